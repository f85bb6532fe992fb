"""The admin client: admin.py changes the cluster, views.py looks at it.

A change whose answer was lost may have been carried out: it is asked for again, and the error that says "done already"
then counts as success (I-ADMIN-1). A look changes nothing and is repeated until it is answered.
"""
