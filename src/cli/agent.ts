import { Command } from 'commander'
import type { AgentStatus } from '../client/node/index.ts'
import { act, actAsList, actOnOne, describedCommand, takeAll } from './client-command.ts'
import { AGENT_ARGUMENT, findAgent } from './find.ts'
import { choices } from './options/values.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'
import { statusStyle } from './output/terminal.ts'
import { relative, slotUse } from './output/format.ts'

export function agentsCommand(): Command {
  return new Command('agents')
    .description('list, drain, resume and remove agents, which run kernels')
    .addCommand(list(), { isDefault: true })
    .addCommand(move('drain', 'start nothing new on an agent; running kernels finish'))
    .addCommand(move('resume', 'resume a drained agent'))
    .addCommand(remove())
}

function list(): Command {
  const command = describedCommand('list', 'list agents with their capacity and its use', [
    'reprise agents',
    'reprise agents list --status suspect,lost',
  ])
    .addOption(choices('--status <statuses>', 'with one of these statuses', API_ENUMS.AgentStatus))
    .option('--resource-group <group>', 'in this resource group')
    .option('--name <text>', 'with this text in the name')
  return act<{ status?: AgentStatus[]; resourceGroup?: string; name?: string }>(
    command,
    async ({ client, out, signal }, filter) => {
      const { status, resourceGroup } = filter
      const name = filter.name === undefined ? undefined : { contains: filter.name }
      const agents = await takeAll(client.agents({ status, resourceGroup, name }, { signal }))
      const refusals = {
        title: 'REFUSES',
        value: (row: (typeof agents)[number]) => row.refuses,
        flexible: true,
      } as const
      await out.table(
        agents,
        [
          { title: 'AGENT', value: ({ agentId }) => agentId, id: true },
          { title: 'NAME', value: ({ name }) => name, flexible: true },
          { title: 'STATUS', value: ({ status: word }) => word, style: (row) => statusStyle(row.status), kept: true },
          { title: 'GROUP', value: (row) => row.resourceGroup.name, flexible: true },
          { title: 'USED', value: ({ slots }) => slots.map(slotUse).join(' '), flexible: true, kept: true },
          { title: 'ISOLATION', value: ({ isolation }) => isolation ?? 'unknown' },
          // This column is shown only if an agent accepts no new kernels.
          ...(agents.some(({ refuses }) => refuses !== null) ? [refusals] : []),
          { title: 'HEARD', value: ({ lastHeardAt }) => relative(lastHeardAt), align: 'right' },
          { title: 'VERSION', value: ({ version }) => version, flexible: true },
        ],
        'no agents: nothing can run. `reprise serve` includes one; `reprise agent` adds more.',
      )
    },
  )
}

function move(name: 'drain' | 'resume', description: string): Command {
  const command = describedCommand(name, description, [`reprise agents ${name} node-7 --reason "new disk"`])
    .argument('<agent>', AGENT_ARGUMENT)
    .option('--reason <text>', 'reason, stored for later')
  return actOnOne(
    command,
    async (client, text, { reason }: { reason?: string }) => {
      const id = await findAgent(client, text)
      return name === 'drain' ? client.drainAgent(id, reason) : client.resumeAgent(id, reason)
    },
    (agent) => `${agent.name} ${agent.agentId}: ${agent.status}`,
  )
}

function remove(): Command {
  const command = describedCommand('remove', 'remove an agent that is lost or drained and has no kernels', [
    'reprise agents remove node-7 --reason "sold"',
  ])
    .argument('<agent>', AGENT_ARGUMENT)
    .option('--reason <text>', 'reason, stored for later')
  return actOnOne(
    command,
    async (client, text, { reason }: { reason?: string }) => client.removeAgent(await findAgent(client, text), reason),
    ({ name, agentId }) => `${name} ${agentId}: removed`,
  )
}

export function volumesCommand(): Command {
  const command = describedCommand('volumes', 'list the volumes: directories on agents that sessions can mount', [
    'reprise volumes',
    'reprise volumes --json',
  ])
  return actAsList(
    command,
    (client, options) => client.volumes(options),
    [
      { title: 'VOLUME', value: ({ name }) => name, flexible: true, kept: true },
      { title: 'ACCESS', value: ({ readOnly }) => (readOnly ? 'read-only' : 'read-write') },
      { title: 'AGENTS', value: ({ agents }) => agents, align: 'right' },
      { title: 'GROUPS', value: ({ resourceGroups }) => resourceGroups.join(', '), flexible: true },
    ],
    'no volumes: REPRISE_CONTAINER_VOLUMES of an agent defines them.',
  )
}
