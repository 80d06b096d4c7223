import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'

export function volumesCommand(): Command {
  const command = describedCommand('volumes', 'list the directories of agents that sessions can have in containers', [
    'reprise volumes',
    'reprise volumes --json',
  ])
  return act(command, async ({ client, out, signal }) => {
    await out.table(
      await client.volumes({ signal }),
      [
        { title: 'VOLUME', value: ({ name }) => name, flexible: true, kept: true },
        { title: 'ACCESS', value: ({ readOnly }) => (readOnly ? 'read-only' : 'read-write') },
        { title: 'AGENTS', value: ({ agents }) => agents, align: 'right' },
        { title: 'GROUPS', value: ({ resourceGroups }) => resourceGroups.join(', '), flexible: true },
      ],
      'no volumes: agents name them in REPRISE_CONTAINER_VOLUMES.',
    )
  })
}
