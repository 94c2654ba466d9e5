-- Read the authorities of users, their groups' authorities included.
--
-- Locks    none.
-- Index    none: there are few authorities.
-- Returns  for each active user: the id, whether it is a superuser, and the authorities as
--          an array of objects with the columns of broker.models.Authority.
SELECT account.id, account.is_superuser, (
    SELECT coalesce(json_agg(authority), '[]')
    FROM broker_authority AS authority
    WHERE authority.user_id = account.id OR authority.group_id IN (
        SELECT member.group_id FROM auth_user_groups AS member
        WHERE member.user_id = account.id)
)
FROM auth_user AS account
WHERE account.id = ANY (%(user_ids)b::bigint[]) AND account.is_active;
