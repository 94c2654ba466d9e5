"""Two redelivery policies, compared: what they are asked, and what they had done."""
