"""WholePlan: successive elimination over complete plans, one arm per plan."""
