"""What is minimized: over Gram matrices, points, several views, graphs, structures; margins and penalty."""
