"""Those who work for this process: itself, threads, processes, or a cluster; and one way to ask them."""
