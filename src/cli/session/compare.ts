import type { Command } from 'commander'
import type { SessionComparison } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { findSession, SESSION_ARGUMENT } from '../find.ts'
import { binaryBytes, duration } from '../output/format.ts'
import type { Output } from '../output/output.ts'
import type { Column } from '../output/table.ts'
import { UsageError } from '../present-error.ts'
import { outcomeOf, statusWord } from './session-text.ts'

type Compared = SessionComparison['left']

export function compareCommand(): Command {
  const command = describedCommand('compare', 'show what differs between two sessions, side by side', [
    'reprise compare train               # with the last success of its name',
    'reprise compare train nightly --json',
  ])
    .argument('<session>', SESSION_ARGUMENT)
    .argument('[other]', 'the other one (default: the last success of the same name, or else the attempt before)')
  return act(command, async ({ client, out, signal }, _options, [text, otherText]) => {
    const left = await findSession(client, text!)
    const right = otherText === undefined ? await otherOf(left) : await findSession(client, otherText)
    const comparison = await client.compareSessions(left, right, { signal })
    if (out.json) return out.show(comparison, () => '')
    await out.table(rowsOf(comparison), COLUMNS, '')
    out.print('')
    out.print(logText(comparison, out))

    async function otherOf(id: string): Promise<string> {
      const { lastSuccess, parentSession } = await client.comparableSessions(id, { signal })
      const found = lastSuccess ?? parentSession
      if (found) return found.sessionId
      throw new UsageError(
        'No other session of this name has succeeded, and it has no attempt before: name the other one.',
      )
    }
  })
}

interface Row {
  field: string
  left: string | null
  right: string | null
}

const COLUMNS: readonly Column<Row>[] = [
  { title: '', value: ({ field }) => field, kept: true },
  { title: 'LEFT', value: ({ left }) => left ?? '–', flexible: true, kept: true },
  { title: 'RIGHT', value: ({ right }) => right ?? '–', flexible: true, kept: true },
]

/** How both ran comes first, then only what differs. */
function rowsOf({ left, right, differences }: SessionComparison): Row[] {
  const both = (field: string, of: (session: Compared) => string | null): Row => ({
    field,
    left: of(left),
    right: of(right),
  })
  return [
    both('session', ({ sessionId }) => sessionId),
    both('name', ({ name, attempt }) => `${name}, attempt ${attempt}`),
    both('outcome', (session) => outcomeOf(session) || statusWord(session).toLowerCase()),
    both('agent', ({ kernels }) => [...new Set(kernels.flatMap(({ agent }) => agent?.name ?? []))].join(', ') || null),
    both('ran', ranFor),
    both('peak memory', ({ usage }) => (usage?.peakMemoryBytes == null ? null : binaryBytes(usage.peakMemoryBytes))),
    ...differences.map(({ field, before, after }) => ({ field, left: before, right: after })),
  ]
}

function ranFor({ startedAt, terminatedAt }: Compared): string | null {
  if (startedAt === null || terminatedAt === null) return null
  return duration((Date.parse(terminatedAt) - Date.parse(startedAt)) / 1000)
}

function logText({ logDifference: found }: SessionComparison, { terminal }: Output): string {
  if (found === null) return 'Their logs say the same.'
  const { leftNumber, rightNumber, leftLine, rightLine, linesBefore, leftLinesAfter, rightLinesAfter } = found
  const ended = terminal.style('dim', 'the log ends here')
  return [
    `Their logs differ first at line ${leftNumber}${rightNumber === leftNumber ? '' : ` (right: ${rightNumber})`}:`,
    ...linesBefore.map((line) => terminal.style('dim', `  ${line}`)),
    ...[leftLine ?? ended, ...leftLinesAfter].map((line) => `${terminal.style('red', '<')} ${line}`),
    ...[rightLine ?? ended, ...rightLinesAfter].map((line) => `${terminal.style('green', '>')} ${line}`),
  ].join('\n')
}
