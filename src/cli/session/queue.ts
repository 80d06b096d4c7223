import type { Command } from 'commander'
import type { QueuedSession } from '../../client/node/index.ts'
import { act, describedCommand, showFirst } from '../client-command.ts'
import { wholeNumber } from '../options/values.ts'
import { instant, relative } from '../output/format.ts'
import type { Column } from '../output/table.ts'

const LIMIT = 50

export function queueCommand(): Command {
  const command = describedCommand('queue', 'list what waits in line, in order, with expected starts', [
    'reprise queue',
    'reprise queue gpu --limit 10',
  ])
    .argument('[resource-group]', 'its name', 'default')
    .option('--limit <n>', `maximum number; 0 means all (default: ${LIMIT})`, wholeNumber)
  return act<{ limit?: number }>(command, async ({ client, out, signal }, { limit = LIMIT }, [resourceGroup]) => {
    const of = client.queue(resourceGroup, { signal })
    await showFirst(out, { limit, of }, COLUMNS, 'nothing is in line')
  })
}

const COLUMNS: readonly Column<QueuedSession>[] = [
  { title: 'BEHIND', value: ({ queuePlace }) => String(queuePlace?.before ?? ''), align: 'right', kept: true },
  { title: 'SESSION', value: ({ sessionId }) => sessionId, kept: true },
  { title: 'NAME', value: ({ name }) => name, flexible: true, kept: true },
  { title: 'PROJECT', value: ({ project }) => project.name, flexible: true },
  { title: 'PRIORITY', value: ({ priority }) => String(priority), align: 'right' },
  { title: 'CREATED', value: ({ createdAt }) => relative(createdAt) },
  { title: 'STARTS ABOUT', value: ({ queuePlace }) => startOf(queuePlace), flexible: true, kept: true },
]

function startOf(place: QueuedSession['queuePlace']): string {
  if (place === null) return ''
  return place.expectedStartAt === null ? (place.whyUnknown ?? '') : instant(place.expectedStartAt)
}
