package render
import ("testing";"fmt";"os";"path/filepath";"encoding/json";"time";"strings")
func TestZZ(t *testing.T){
 corpus,_:=corpusFolders(t)
 text,_:=os.ReadFile(filepath.Join(corpus,"index.json"))
 var entries []corpusEntry
 json.Unmarshal(text,&entries)
 for _,e:=range entries{ if e.Kind!="chart"{continue}
  for _,b:=range e.Builds { if b.Error!="" {continue}
   in:=b.input(t,corpus)
   r,_:=newRelease(in,in.FS); p,err:=r.pass(t.Context(),keepClock); if err!=nil{continue}
   r2,_:=newRelease(in,in.FS); p2,err:=r2.settled(t.Context()); if err!=nil{fmt.Println(e.Name,b.Variant,err);continue}
   if len(r2.caps.APIVersions)==len(r.caps.APIVersions){continue}
   d:=func(p *rendered) objects { var a=p.crds; for _,x:=range p.objects{a=append(a,x.Manifest)}; o,_:=indexed(a); return o}
   if err:=difference(d(p),d(p2)); err!=nil && b.Deterministic { fmt.Println("OWN",e.Name,b.Variant,strings.Split(err.Error(),"\n")[:2]) }
  }}
}
func TestZSpeed(t *testing.T){
 for _,n:=range []int{1000,5000}{
  var b strings.Builder
  for i:=0;i<n;i++{ fmt.Fprintf(&b,"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-%d\n  namespace: x\ndata:\n  a: \"1\"\n  b: \"%d\"\n",i,i)}
  for _,c:=range []struct{n string; f map[string]string}{
   {"plain",map[string]string{"a.yaml":b.String()}},
   {"chart",map[string]string{"Chart.yaml":"apiVersion: v2\nname: app\nversion: 1.0.0\n","templates/a.yaml":fmt.Sprintf("{{ range until %d }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-{{ . }}\ndata:\n  a: \"1\"\n  b: \"{{ . }}\"\n{{ end }}",n)}},
   {"kustomize",map[string]string{"kustomization.yaml":"resources: [a.yaml]\n","a.yaml":b.String()}},
  }{
   t0:=time.Now(); out:=mustRender(t,files(t,c.f)); fmt.Println("SPEED",c.n,n,len(out.Manifests),time.Since(t0))
  }
 }
}
