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
    'A span of time in the life of a chain. Segments follow each other without gap or overlap, from the creation of the chain to its end or to now. A PLANNED segment comes after that.',
  fields: (t) => ({
    kind: t.expose('kind', { type: ChainSegmentKindEnum, description: 'What happened in this time.' }),
    from: t.expose('from', {
      type: 'DateTime',
      description: 'When it began. For PLANNED: when the retry is due, or now if the retry is held.',
    }),
    to: t.expose('to', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended. Null for the segment that lasts until now, and for PLANNED.',
    }),
    attempt: t.exposeInt('attempt', {
      description: 'The number of the attempt; between two attempts, that of the earlier one.',
    }),
    epoch: t.exposeInt('epoch', { description: 'The epoch of that attempt.' }),
    session: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The attempt itself; null for PLANNED.',
      resolve: ({ sessionId }, _args, context, info) =>
        sessionId === null ? null : loadSession({ context, info, by: 'id', value: sessionId }),
    }),
    cause: t.expose('cause', {
      type: FailureCauseEnum,
      nullable: true,
      description:
        'Why that attempt failed; null if it did not fail or has not been judged yet. For PLANNED: why the attempt before failed.',
    }),
    holdReason: t.expose('holdReason', {
      type: HoldReasonEnum,
      nullable: true,
      description: 'For HELD: why the retry was held.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description:
        'Explanation in words: what held the retry; why the attempt ended (in its last segment); why it waits (in QUEUED); how the retry was decided (in PLANNED).',
    }),
  }),
})

builder.objectField(ChainNode, 'timeline', (t) =>
  t.connection(
    {
      type: ChainSegmentType,
      description:
        'How it spent its time, oldest segment first. A segment that has ended keeps its position and its times. BACKOFF includes the time that a retry was held before the server recorded holds. `totalCount` counts the first ' +
        `${COUNTED_ATTEMPTS_MAX} attempts.`,
      complexity: pageComplexity,
      resolve: async ({ chainId, attempts }, args, { loaders }) => {
        const bounds = { after: parsePosition(args.after, 'after'), before: parsePosition(args.before, 'before') }
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
    { name: 'ChainSegmentEdge', description: 'One segment with its cursor.' },
  ),
)

interface SegmentPosition {
  attempt: number
  place: number
}

interface Bounds {
  after: SegmentPosition | null
  before: SegmentPosition | null
}

/**
 * The range of attempts that certainly contains a page and one more segment: each attempt has at least one segment, but
 * the attempt at the cursor may have none beyond it.
 */
function recordsFor(args: PageArguments, { after, before }: Bounds, attempts: number) {
  const { size, backward } = pageSize(args)
  const first = Math.max(1, after?.attempt ?? 1)
  const last = Math.min(attempts, before?.attempt ?? attempts)
  const limit = Math.max(0, Math.min(size + 2, last - first + 1))
  return { after: backward ? last - limit : first - 1, limit, backward }
}

function isWithin(segment: SegmentPosition, { after, before }: Bounds): boolean {
  return (after === null || isBefore(after, segment)) && (before === null || isBefore(segment, before))
}

function isBefore(a: SegmentPosition, b: SegmentPosition): boolean {
  return a.attempt < b.attempt || (a.attempt === b.attempt && a.place < b.place)
}

/** Reads a cursor; null without one. @throws RepriseError */
function parsePosition(cursor: string | null | undefined, name: 'after' | 'before'): SegmentPosition | null {
  if (cursor == null) return null
  const match = /^s:(\d{1,9})\.(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw invalidCursor(name)
  return { attempt: Number(match[1]), place: Number(match[2]) }
}
