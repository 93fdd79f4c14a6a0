"""What is measured and not shipped: nothing of this folder is installed."""
