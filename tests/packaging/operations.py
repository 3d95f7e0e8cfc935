def operations(part, folder): part.ok("todo")
