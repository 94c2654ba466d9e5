"""Operations on many messages, for pages and the API."""
