"""What we know, as frozen structs, one file a noun.

Fields carry their unit in the name. A field that a machine or a backend cannot tell is
`None`, never invented. Only the standard library and msgspec are imported here.
"""
