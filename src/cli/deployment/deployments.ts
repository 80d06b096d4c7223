import { Command } from 'commander'
import type { DeploymentStatus } from '../../client/node/index.ts'
import { ofCaller } from '../options/session-options.ts'
import { act, describedCommand, programAfterDashes, showFirst } from '../client-command.ts'
import {
  addRolloutOptions,
  addServiceOptions,
  rolloutInput,
  type RolloutOptions,
  serviceInput,
  type ServiceOptions,
} from './deployment-options.ts'
import { choices, past, wholeNumber } from '../options/values.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { deploymentEventLine, describeDeployment } from './deployment-text.ts'
import { statusStyle } from '../output/terminal.ts'
import { relative } from '../output/format.ts'
import { UsageError } from '../present-error.ts'
import { DEPLOYMENT_ARGUMENT, findDeployment } from '../find.ts'
import { settle, type Waiting, waitOption } from './settle-deployment.ts'

const LIVING = API_ENUMS.DeploymentStatus.filter((status) => status !== 'DESTROYED')
const LIMIT = 50

export function deploymentsCommand(): Command {
  const command = new Command('deployments').description('services with a fixed number of healthy replicas')
  command.addCommand(list(), { isDefault: true })
  for (const subcommand of [create(), info(), scale(), update(), destroy(), pastEvents(), watchDeployments()]) {
    command.addCommand(subcommand)
  }
  return command
}

interface ListOptions {
  project?: string
  status?: DeploymentStatus[]
  limit?: number
}

function list(): Command {
  const command = describedCommand('list', 'list deployments, newest first', [
    'reprise deployments',
    'reprise deployments list --status scaling',
  ])
    .option('-p, --project <project>', 'in this project')
    .addOption(
      choices(
        '--status <statuses>',
        'with one of these statuses (default: all except destroyed)',
        API_ENUMS.DeploymentStatus,
      ),
    )
    .option('--limit <n>', `maximum number; 0 means all (default: ${LIMIT})`, wholeNumber)
  return act<ListOptions>(command, async ({ client, out, signal }, options) => {
    const { project, status = LIVING, limit = LIMIT } = options
    const deployments = client.deployments({ filter: { project, status } }, { signal })
    await showFirst(
      out,
      { limit, of: deployments },
      [
        { title: 'DEPLOYMENT', value: ({ deploymentId }) => deploymentId, id: true },
        { title: 'NAME', value: ({ name }) => name, flexible: true },
        { title: 'STATUS', value: (row) => row.status, style: (row) => statusStyle(row.status), kept: true },
        { title: 'HEALTHY', value: (row) => `${row.healthyReplicas} of ${row.replicas}`, align: 'right' },
        { title: 'REVISION', value: ({ revision }) => revision.number, align: 'right' },
        { title: 'PROJECT', value: (row) => row.project.name, flexible: true },
        { title: 'CREATED', value: ({ createdAt }) => relative(createdAt), align: 'right' },
        { title: 'WHY', value: ({ statusReason }) => statusReason, flexible: true },
      ],
      'no deployments',
    )
  })
}

interface CreateOptions extends ServiceOptions, RolloutOptions, Waiting {
  project?: string
  replicas?: number
  creationId?: string
}

function create(): Command {
  const command = describedCommand('create', 'create a deployment; prints its id', [
    'reprise deployments create web --replicas 3 --health-path /healthz --wait -- node ~/server.js',
    "reprise deployments create api -e MODE=live --cpu 2 --mem 1g -- sh -c 'exec python3 -m http.server $PORT'",
  ])
    .argument('[name]', 'lower-case letters, digits and -')
    .argument('[command...]', 'command to run, after --')
    .option('-p, --project <project>', 'project (default: the only one of the token, or default)')
    .option('--replicas <n>', 'number of healthy replicas (default: 1)', wholeNumber)
    .option('--creation-id <id>', 'idempotency key: repeating it returns the same deployment')
  addRolloutOptions(waitOption(command))
  return act<CreateOptions>(addServiceOptions(command), async (context, options, args) => {
    const { project, replicas, creationId } = options
    const { names, program } = programAfterDashes(command, args)
    const [name] = names
    if (name === undefined) throw new UsageError('Give the name of the deployment before --.')
    if (program.length === 0) throw new UsageError('Give the command after --.')
    const input = { name, project, replicas, creationId, ...rolloutInput(options) }
    const { deployment, created } = await context.client.createDeployment({
      ...input,
      ...serviceInput(options, []),
      command: ofCaller(program),
    })
    if (!created) context.out.note('it already existed')
    return settle(context, options, deployment, () => deployment.deploymentId)
  })
}

function info(): Command {
  const command = describedCommand('info', 'show a deployment with its routes', [
    'reprise deployments info web',
    'reprise deployments info web --json',
  ]).argument('<deployment>', DEPLOYMENT_ARGUMENT)
  return act(command, async ({ client, out }, _options, [text]) => {
    const deployment = await client.deployment(await findDeployment(client, text!))
    await out.showSoon(deployment, () => describeDeployment(deployment, out.terminal))
  })
}

interface ScaleOptions extends RolloutOptions, Waiting {}

function scale(): Command {
  const command = describedCommand('scale', 'set the number of replicas', [
    'reprise deployments scale web 5 --wait',
    'reprise deployments scale web 5 --min-healthy 4 --max-surge none',
  ])
    .argument('<deployment>', DEPLOYMENT_ARGUMENT)
    .argument('<replicas>', 'number of healthy replicas; 0 keeps the deployment without any')
  addRolloutOptions(waitOption(command))
  return act<ScaleOptions>(command, async (context, options, [text, count]) => {
    const deploymentId = await findDeployment(context.client, text!)
    if (!/^\d+$/.test(count!)) throw new UsageError('<replicas> must be a whole number.')
    const replicas = Number(count)
    const deployment = await context.client.scaleDeployment({ deploymentId, replicas, ...rolloutInput(options) })
    return settle(context, options, deployment)
  })
}

function update(): Command {
  const command = describedCommand(
    'update',
    'change the program or its settings; routes are replaced one after the other',
    [
      'reprise deployments update web --wait -- node ~/server.js --fast',
      'reprise deployments update web --health-interval 1s --drain 10s',
    ],
  )
    .argument('<deployment>', DEPLOYMENT_ARGUMENT)
    .argument('[command...]', 'new command to run, after --')
  return act<ServiceOptions & Waiting>(addServiceOptions(waitOption(command)), async (context, options, args) => {
    const { names, program } = programAfterDashes(command, args)
    const [text] = names
    if (text === undefined) throw new UsageError('Give the name of the deployment before --.')
    const deploymentId = await findDeployment(context.client, text)
    const deployment = await context.client.updateDeployment({ deploymentId, ...serviceInput(options, program) })
    return settle(context, options, deployment)
  })
}

function destroy(): Command {
  const command = describedCommand('destroy', 'destroy a deployment with all its routes', [
    'reprise deployments destroy web --wait',
  ])
    .argument('<deployment>', DEPLOYMENT_ARGUMENT)
    .option('--reason <text>', 'reason, stored with the deployment')
  return act<Waiting & { reason?: string }>(waitOption(command), async (context, options, [text]) => {
    const deploymentId = await findDeployment(context.client, text!)
    return settle(context, options, await context.client.destroyDeployment(deploymentId, options.reason))
  })
}

interface EventsOptions {
  project?: string
  since?: string
  limit?: number
}

const EVENTS = 50

function pastEvents(): Command {
  const command = describedCommand('events', 'list past events of deployments and their routes, newest last', [
    'reprise deployments events web --since 1h',
  ])
    .argument('[deployment]', DEPLOYMENT_ARGUMENT)
    .option('-p, --project <project>', 'only in this project')
    .option('--since <time>', 'since this time, or a duration ago like 2h', past)
    .option('--limit <n>', `number of newest events; 0 means all that are stored (default: ${EVENTS})`, wholeNumber)
  return act<EventsOptions>(command, async ({ client, out, signal }, { project, since, limit = EVENTS }, [text]) => {
    const deploymentId = text === undefined ? undefined : await findDeployment(client, text)
    const options = { since, limit, signal }
    const { events, more } = await client.pastDeploymentEvents({ project, deploymentId }, options)
    if (more) out.note(`more than ${events.length}: --limit shows more`)
    for (const event of events) out.item(event, () => deploymentEventLine(event, out.terminal))
  })
}

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
      // Scripts may wait for this line, because no event after it is missed.
      out.note(out.notes.style('dim', `watching from ${from.after}`))
      for await (const event of client.deploymentEvents({ project, deploymentId }, from)) {
        out.item(event, () => deploymentEventLine(event, out.terminal))
      }
    },
    { follow: true },
  )
}
