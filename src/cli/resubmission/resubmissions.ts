import { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { findResubmission } from '../find/find-others.ts'
import { statusStyle } from '../output/status-style.ts'
import { relative } from '../output/time.ts'
import { take } from '../session/take.ts'

const SHOWN = 50

export function resubmissionsCommand(): Command {
  return new Command('resubmissions')
    .description('resubmissions and their progress')
    .addCommand(list(), { isDefault: true })
    .addCommand(abort())
}

function list(): Command {
  const command = describedCommand('list', 'list resubmissions, newest first', ['reprise resubmissions'])
  return act(command, async ({ client, out, signal }) => {
    const { items } = await take(client.resubmissions({ signal }), SHOWN)
    await out.table(
      items,
      [
        { title: 'RESUBMISSION', value: ({ resubmissionId }) => resubmissionId, id: true },
        { title: 'STATE', value: ({ state }) => state, style: ({ state }) => statusStyle(state), kept: true },
        { title: 'DONE', value: ({ done }) => done, align: 'right' },
        { title: 'REFUSED', value: ({ refusedCount }) => refusedCount, align: 'right' },
        { title: 'TOTAL', value: ({ total }) => total, align: 'right' },
        { title: 'BY', value: ({ actor }) => actor, flexible: true },
        { title: 'MADE', value: ({ createdAt }) => relative(createdAt), align: 'right' },
        { title: 'KEY', value: ({ clientKey }) => clientKey, flexible: true },
      ],
      'no resubmissions',
    )
  })
}

function abort(): Command {
  const command = describedCommand('abort', 'abort a resubmission; what it has not done yet is left undone', [
    'reprise resubmissions abort 01990000-0000-7000-8000-000000000000',
  ]).argument('<resubmission>', 'id, or its beginning, of a resubmission')
  return act(command, async ({ client, out }, _options, [text]) => {
    const made = await client.abortResubmission(await findResubmission(client, text!))
    out.show(made, () => `${made.resubmissionId}: ${made.state}, ${made.done} of ${made.total} done`)
  })
}
