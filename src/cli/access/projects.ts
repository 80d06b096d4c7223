import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { instant } from '../output/time.ts'
import { takeAll } from '../session/take.ts'

export function projectsCommand(): Command {
  const command = describedCommand('projects', 'list the projects that you may see', ['reprise projects'])
  return act(command, async ({ client, out, signal }) => {
    await out.table(
      await takeAll(client.projects({ signal })),
      [
        { title: 'PROJECT', value: ({ name }) => name },
        { title: 'DOMAIN', value: ({ domain }) => domain },
        { title: 'CREATED', value: ({ createdAt }) => instant(createdAt) },
        { title: 'ID', value: ({ projectId }) => projectId },
      ],
      'no projects',
    )
  })
}
