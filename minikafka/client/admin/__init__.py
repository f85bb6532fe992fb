"""The admin client: admin.py changes the cluster, views.py has the queries.

A change whose answer was lost may have been carried out. It is requested again, and an error that says "done already" then
counts as success (I-ADMIN-1). A query changes nothing, and is repeated until it is answered.
"""
