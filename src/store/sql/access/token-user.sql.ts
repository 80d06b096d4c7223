import type { Queryable } from '../../database.ts'

export interface TokenUser {
  id: string
  /** The role in the project; null if the user is no member, or if there is no project. */
  role: 'ADMIN' | 'MEMBER' | 'VIEWER' | null
}

/** Indexes: users(name), project_members(project_id, user_id). */
const SQL = `
SELECT u.id, m.role
FROM users u LEFT JOIN project_members m ON m.user_id = u.id AND m.project_id = $2
WHERE u.name = $1`

export async function findTokenUser(
  db: Queryable,
  name: string,
  projectId: string | null,
): Promise<TokenUser | undefined> {
  return (await db.query<TokenUser>(SQL, [name, projectId])).rows[0]
}
