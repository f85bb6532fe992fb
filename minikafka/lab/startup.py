"""Each kernel that `make lab` starts runs this first (PYTHONSTARTUP): from then on the kernel does what beside.py says.

It leaves no name behind in the notebook. A Python of a terminal that does not know the labs goes on without them.
"""
try:
    __import__("minikafka.lab")
    __import__("os").environ.pop("PYTHONSAFEPATH", None)
    if __import__("sys").platform == "emscripten" or __import__("os").environ.get("MINIKAFKA_ENGINE") == "world":
        __import__("minikafka.lab.page.notebook", fromlist="enter").enter()
except ImportError:
    pass
