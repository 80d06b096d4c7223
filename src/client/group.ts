import { v7 as uuidv7 } from 'uuid'
import { allPages, payloadOf } from './answers.ts'
import type { CallOptions, Connection } from './connection/connection.ts'
import { NotFoundError } from './errors.ts'
import { pause } from './transport/retry-schedule.ts'
import {
  AddSessionsDocument,
  CancelSessionGroupDocument,
  CreateGroupDocument,
  type GroupSummaryFragment,
  ResubmitSessionGroupDocument,
  SessionGroupDocument,
  SessionGroupsDocument,
} from './operations.generated.ts'
import type {
  AddSessionsInput,
  CreateSessionGroupInput,
  CreateSessionInput,
  ResubmitSessionGroupInput,
  SessionGroupFilter,
} from './schema-types.generated.ts'

export type SessionGroup = GroupSummaryFragment

/** Whether the group has ended: no member of it can change any more, unless somebody resubmits it. */
export function hasGroupEnded({ endedAt }: Pick<SessionGroup, 'endedAt'>): boolean {
  return endedAt !== null
}

/** Pause between two looks at a group that somebody waits for. */
const LOOK_SECONDS = 1

export function groupOperations({ request, closed }: Connection) {
  async function sessionGroup(
    which: { id: string } | { key: string; project?: string | undefined },
    options?: CallOptions,
  ): Promise<SessionGroup> {
    const { sessionGroup: found } = await request(SessionGroupDocument, which, options)
    if (found) return found
    throw new NotFoundError('GROUP_NOT_FOUND', `There is no group ${'id' in which ? which.id : which.key}.`)
  }

  return {
    /**
     * Creates a group with its members, all or none of them, and exactly once: a missing `key` is generated.
     * @throws ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError
     */
    async createGroup(
      sessions: readonly CreateSessionInput[],
      group: CreateSessionGroupInput,
      options?: CallOptions,
    ): Promise<{ group: SessionGroup; created: boolean }> {
      const input = { sessions: [...sessions], group: { ...group, key: group.key ?? uuidv7() } }
      const data = await request(CreateGroupDocument, { input }, { ...options, idempotent: true })
      const { group: made, created } = payloadOf(data.createSessions)
      return { group: made!, created }
    },

    /**
     * Adds members to an open group, all or none of them, and once for a `clientKey`.
     * @throws ValidationError, NotFoundError, ConflictError, QuotaExceededError, InvalidStateError, ForbiddenError
     */
    async addSessions(input: AddSessionsInput, options?: CallOptions): Promise<{ group: SessionGroup; added: number }> {
      const keyed = { ...input, clientKey: input.clientKey ?? uuidv7() }
      return payloadOf(
        (await request(AddSessionsDocument, { input: keyed }, { ...options, idempotent: true })).addSessions,
      )
    },

    /** Returns a group by its id, or by its key in a project (`default` unless given). @throws NotFoundError */
    sessionGroup,

    /** Lists groups, newest first. Pages are read as they are needed. */
    sessionGroups({ filter }: { filter?: SessionGroupFilter } = {}, options?: CallOptions) {
      return allPages(
        async (page) => (await request(SessionGroupsDocument, { filter, ...page }, options)).sessionGroups,
      )
    },

    /** Ends all members of a group. @throws NotFoundError, InvalidStateError, ForbiddenError */
    async cancelGroup(
      groupId: string,
      { reason, ...options }: { reason?: string | undefined } & CallOptions = {},
    ): Promise<SessionGroup> {
      const input = { groupId, reason, clientKey: uuidv7() }
      const data = await request(CancelSessionGroupDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.cancelSessionGroup).group
    },

    /**
     * Resubmits the members of a group that failed or were cancelled, or those in the given `states`, exactly once: a
     * missing `clientKey` is generated. `waitForBulkAction` waits for large resubmissions.
     * @throws ValidationError, NotFoundError, ConflictError, ForbiddenError
     */
    async resubmitGroup(input: ResubmitSessionGroupInput, options?: CallOptions) {
      const keyed = { ...input, clientKey: input.clientKey ?? uuidv7() }
      const data = await request(ResubmitSessionGroupDocument, { input: keyed }, { ...options, idempotent: true })
      return payloadOf(data.resubmitSessionGroup)
    },

    /**
     * Yields a group as it changes, until it has ended.
     * @throws NotFoundError, the signal's reason
     */
    async *followGroup(id: string, { signal, ...options }: CallOptions = {}): AsyncGenerator<SessionGroup, void> {
      const over = signal === undefined ? closed : AbortSignal.any([signal, closed])
      for (let last = ''; ;) {
        const group = await sessionGroup({ id }, { ...options, signal: over })
        const now = JSON.stringify(group)
        if (now !== last) yield group
        if (hasGroupEnded(group)) return
        last = now
        await pause(LOOK_SECONDS, over)
      }
    },
  }
}
