# The id is NAMESPACE/NAME of the component.
terraform import component.shop shop/shop
