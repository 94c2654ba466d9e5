"""Operations on many messages as pages and the API show them."""
