"""Problems: the layered graph, its reward laws, named families of instances, files and adapters."""
