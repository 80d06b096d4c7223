import type { UiMembersQuery } from '../settings.generated.ts'

export type User = UiMembersQuery['users']['edges'][number]['node']

/** A membership; of a user without any, the user alone. */
export interface Member {
  user: User
  membership: User['memberships'][number] | undefined
}
