"""Operations on many messages: plans, patches, approvals, results."""
