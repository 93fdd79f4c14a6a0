"""What is compared once there is a map: groups of people, two maps, a map and a model, methods."""
