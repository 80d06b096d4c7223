import { type ChainSegment, segmentsOf } from '../../../domain/chain/timeline.ts'
import { COUNTED_ATTEMPTS_MAX } from '../../../domain/limits.ts'
import { assemblePage, invalidCursor, type PageArguments, pageSize } from '../../../services/paging.ts'
import { builder } from '../../builder.ts'
import { loadSession } from '../../loaders/load-session.ts'
import { pageComplexity } from '../../paging.ts'
import { FailureCauseEnum, HoldReasonEnum } from '../retry/retry.enums.ts'
import { SessionNode } from '../session/session.types.ts'
import { ChainNode, ChainSegmentKindEnum } from './chain.types.ts'

const ChainSegmentType = builder.objectRef<ChainSegment>('ChainSegment').implement({
  description:
    'A part of the life of a chain. Segments follow each other without gap or overlap, from the creation of the chain to its end or to now; a PLANNED one comes after that.',
  fields: (t) => ({
    kind: t.expose('kind', { type: ChainSegmentKindEnum, description: 'What the time was spent with.' }),
    from: t.expose('from', {
      type: 'DateTime',
      description: 'When it began. Of PLANNED: when the retry is due; now, if it is held.',
    }),
    to: t.expose('to', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended. Null while it lasts: only the last one does. Null for PLANNED.',
    }),
    attempt: t.exposeInt('attempt', {
      description: 'The number of the attempt; between two of them, of the one that had ended.',
    }),
    epoch: t.exposeInt('epoch', { description: 'The epoch of that attempt.' }),
    session: t.field({
      type: SessionNode,
      nullable: true,
      description: 'That attempt; null for PLANNED.',
      resolve: ({ sessionId }, _args, context, info) =>
        sessionId === null ? null : loadSession({ context, info, by: 'id', value: sessionId }),
    }),
    cause: t.expose('cause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'Why that attempt failed; null if it did not or is not judged yet. For PLANNED: of the one before.',
    }),
    holdReason: t.expose('holdReason', { type: HoldReasonEnum, nullable: true, description: 'Why it was HELD.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description:
        'In words: what held the retry, why the attempt ended (with its last segment), why it waits (while QUEUED), how the retry was decided (PLANNED).',
    }),
  }),
})

builder.objectField(ChainNode, 'timeline', (t) =>
  t.connection(
    {
      type: ChainSegmentType,
      description:
        'What its time was spent with, oldest first. A segment that has ended keeps its place and its times. Waits of retries that were held before they were on record count as BACKOFF. `totalCount` is of the first ' +
        `${COUNTED_ATTEMPTS_MAX} attempts.`,
      complexity: pageComplexity,
      resolve: async ({ chainId, attempts }, args, { loaders }) => {
        const bounds = { after: parsePlace(args.after, 'after'), before: parsePlace(args.before, 'before') }
        const { limit, after, backward } = recordsFor(args, bounds, attempts)
        const record = await loaders.chainTimelines.load({ chainId, after, limit })
        const rows = record.attempts
          .flatMap((attempt) => segmentsOf(attempt, record.now))
          .filter((segment) => isWithin(segment, bounds))
        const count = async () => {
          const whole = await loaders.chainTimelines.load({ chainId, after: 0, limit: COUNTED_ATTEMPTS_MAX })
          return whole.attempts.flatMap((attempt) => segmentsOf(attempt, whole.now)).length
        }
        const page = assemblePage({
          args,
          rows: backward ? rows.toReversed() : rows,
          cursorOf: ({ attempt, place }) => Buffer.from(`s:${attempt}.${place}`).toString('base64url'),
          count,
        })
        return { ...page, totalCountIsExact: () => Promise.resolve(attempts <= COUNTED_ATTEMPTS_MAX) }
      },
    },
    { name: 'ChainSegmentConnection', description: "A page of a chain's timeline." },
    { name: 'ChainSegmentEdge', description: 'One segment and its place.' },
  ),
)

interface Place {
  attempt: number
  place: number
}

interface Bounds {
  after: Place | null
  before: Place | null
}

/**
 * The range of attempts that certainly holds a page and one more segment: each attempt has at least one segment, but
 * the one at the cursor may have none beyond it.
 */
function recordsFor(args: PageArguments, { after, before }: Bounds, attempts: number) {
  const { size, backward } = pageSize(args)
  const first = Math.max(1, after?.attempt ?? 1)
  const last = Math.min(attempts, before?.attempt ?? attempts)
  const limit = Math.max(0, Math.min(size + 2, last - first + 1))
  return { after: backward ? last - limit : first - 1, limit, backward }
}

function isWithin(segment: Place, { after, before }: Bounds): boolean {
  return (after === null || isBefore(after, segment)) && (before === null || isBefore(segment, before))
}

function isBefore(a: Place, b: Place): boolean {
  return a.attempt < b.attempt || (a.attempt === b.attempt && a.place < b.place)
}

/** Null without a cursor. @throws RepriseError */
function parsePlace(cursor: string | null | undefined, name: 'after' | 'before'): Place | null {
  if (cursor == null) return null
  const match = /^s:(\d{1,9})\.(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw invalidCursor(name)
  return { attempt: Number(match[1]), place: Number(match[2]) }
}
