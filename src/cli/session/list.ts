import type { Command } from 'commander'
import type { SessionSummary } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { findFilter } from '../find/find-in-options.ts'
import { addFilterOptions, type FilterOptions } from '../options/filter-options.ts'
import { wholeNumber } from '../options/values.ts'
import { statusStyle } from '../output/status-style.ts'
import type { Column } from '../output/table.ts'
import { relative } from '../output/time.ts'
import { outcomeOf, phaseWord, ranFor, statusWord } from './describe-session.ts'
import { take } from './take.ts'

const LIMIT = 50

export const SESSION_COLUMNS: readonly Column<SessionSummary>[] = [
  { title: 'SESSION', value: ({ sessionId }) => sessionId, id: true },
  { title: 'NAME', value: ({ name }) => name, flexible: true },
  { title: 'STATUS', value: statusWord, style: (row) => statusStyle(statusWord(row)), kept: true },
  { title: 'ATTEMPT', value: ({ retryState }) => retryState.label.replace('attempt ', ''), flexible: true },
  { title: 'RETRY', value: phaseWord, style: (row) => statusStyle(row.retryState.phase) },
  { title: 'OUTCOME', value: outcomeOf, flexible: true, kept: true },
  { title: 'RAN', value: ranFor, align: 'right' },
  { title: 'CREATED', value: ({ createdAt }) => relative(createdAt), align: 'right' },
]

export function listCommand(): Command {
  const command = describedCommand('list', 'list sessions, newest first', [
    'reprise list --status running,pending',
    'reprise list --cause oom-killed --since 2h',
    'reprise list --exit-code 1,137 --reason "No space left"',
    "reprise list --with-name 'nightly*' --limit 500 --json > nightly.json",
  ])
    .alias('ls')
    .alias('sessions')
    .option('--limit <n>', `at most so many; 0 is all (default: ${LIMIT})`, wholeNumber)
  return act<FilterOptions & { limit?: number; reason?: string }>(
    addFilterOptions(command).option('--reason <text>', 'the same as --with-reason'),
    async ({ client, out, signal }, { withReason, reason = withReason, ...options }) => {
      const { items, more } = await take(
        client.sessions({ filter: await findFilter(client, { ...options, withReason: reason }) }, { signal }),
        options.limit ?? LIMIT,
      )
      await out.table(items, SESSION_COLUMNS, 'no sessions')
      if (more) out.note(`more than ${items.length}: --limit shows more`)
    },
  )
}
