"""What the stories stand on: a real n8n, the world around it, and the database between them."""
