import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { deploymentEventLine } from '../output/deployment-text.ts'
import { DEPLOYMENT_ARGUMENT, findDeployment } from '../find/find-deployment.ts'

interface WatchOptions {
  project?: string
  after?: string
}

export function watchDeployments(): Command {
  const command = describedCommand(
    'watch',
    'show events of deployments and their routes, until Ctrl-C; waits for restarting servers',
    ['reprise deployments watch', 'reprise deployments watch web --json'],
  )
    .argument('[deployment]', DEPLOYMENT_ARGUMENT)
    .option('-p, --project <project>', 'only in this project')
    .option('--after <cursor>', 'resume after this event without missing any; --json prints each cursor')
  return act<WatchOptions>(
    command,
    async ({ client, out, signal }, { project, after }, [text]) => {
      const deploymentId = text === undefined ? undefined : await findDeployment(client, text)
      const from = { after: after ?? (await client.eventCursor({ signal })), signal }
      // Scripts may wait for this line: no later event is missed.
      out.note(out.notes.style('dim', `watching from ${from.after}`))
      for await (const event of client.deploymentEvents({ project, deploymentId }, from)) {
        out.item(event, () => deploymentEventLine(event, out.terminal))
      }
    },
    { follow: true },
  )
}
