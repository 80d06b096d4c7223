import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { deploymentEventLine } from '../output/deployment-text.ts'
import { DEPLOYMENT_ARGUMENT, findDeployment } from '../session/find-deployment.ts'

interface WatchOptions {
  project?: string
  after?: string
}

export function watchDeployments(): Command {
  const command = describedCommand(
    'watch',
    'show what happens to deployments and their routes, until Ctrl-C; servers that restart are waited for',
    ['reprise deployments watch', 'reprise deployments watch web --json'],
  )
    .argument('[deployment]', DEPLOYMENT_ARGUMENT)
    .option('-p, --project <name>', 'of this project only')
    .option('--after <cursor>', 'go on behind this event, missing none; the cursor stands in each with --json')
  return act<WatchOptions>(
    command,
    async ({ client, out, signal }, { project, after }, [text]) => {
      const deploymentId = text === undefined ? undefined : await findDeployment(client, text)
      const from = { after: after ?? (await client.eventCursor({ signal })), signal }
      // Whoever waits for this line knows that nothing from now on is missed.
      out.note(out.notes.style('dim', `watching from ${from.after}`))
      for await (const event of client.deploymentEvents({ project, deploymentId }, from)) {
        out.item(event, () => deploymentEventLine(event, out.terminal))
      }
    },
    { follow: true },
  )
}
