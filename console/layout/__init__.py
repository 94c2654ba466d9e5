"""What pages share: navigation, pagination, links, problems of settings."""
