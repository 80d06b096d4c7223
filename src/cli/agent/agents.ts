import { Command } from 'commander'
import { NotFoundError, type AgentStatus, type Client } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { choices } from '../options/values.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { statusStyle } from '../output/status-style.ts'
import { relative } from '../output/time.ts'
import { takeAll } from '../session/take.ts'

export function agentsCommand(): Command {
  return new Command('agents')
    .description('list, drain and resume the nodes that run kernels')
    .addCommand(list(), { isDefault: true })
    .addCommand(move('drain', 'start nothing new on an agent; running kernels finish'))
    .addCommand(move('resume', 'give an agent work again'))
}

function list(): Command {
  const command = describedCommand('list', 'list agents with their capacity and what is in use', [
    'reprise agents',
    'reprise agents list --status suspect,lost',
  ])
    .addOption(choices('--status <statuses>', 'with one of these', API_ENUMS.AgentStatus))
    .option('--resource-group <name>', 'in this resource group')
  return act<{ status?: AgentStatus[]; resourceGroup?: string }>(command, async ({ client, out, signal }, filter) => {
    const { status, resourceGroup } = filter
    await out.table(
      await takeAll(client.agents({ status, resourceGroup }, { signal })),
      [
        { title: 'AGENT', value: ({ agentId }) => agentId, id: true },
        { title: 'NAME', value: ({ name }) => name, flexible: true },
        { title: 'STATUS', value: ({ status: word }) => word, style: (row) => statusStyle(row.status) },
        { title: 'GROUP', value: (row) => row.resourceGroup.name, flexible: true },
        { title: 'USED', value: ({ slots }) => slots.map(usage).join(' '), flexible: true },
        { title: 'ISOLATION', value: ({ isolation }) => isolation ?? 'unknown' },
        { title: 'HEARD', value: ({ lastHeardAt }) => relative(lastHeardAt), align: 'right' },
        { title: 'VERSION', value: ({ version }) => version, flexible: true },
      ],
      'no agents: nothing can run. `reprise serve` includes one; `reprise agent` adds more.',
    )
  })
}

function usage({ slot, capacity, used }: { slot: string; capacity: string; used: string }): string {
  return slot === 'mem' ? `mem ${gigabytes(used)}/${gigabytes(capacity)} GiB` : `${slot} ${used}/${capacity}`
}

function gigabytes(bytes: string): string {
  return String(Number((Number(bytes) / 2 ** 30).toFixed(1)))
}

function move(name: 'drain' | 'resume', description: string): Command {
  const command = describedCommand(name, description, [`reprise agents ${name} node-7 --reason "new disk"`])
    .argument('<agent>', 'id, its beginning, or name')
    .option('--reason <text>', 'reason, stored for later')
  return act<{ reason?: string }>(command, async ({ client, out }, { reason }, [text]) => {
    const id = await findAgent(client, text!)
    const agent = await (name === 'drain' ? client.drainAgent(id, reason) : client.resumeAgent(id, reason))
    out.show(agent, () => `${agent.name} ${agent.agentId}: ${agent.status}`)
  })
}

function isBeginning(text: string, id: string): boolean {
  return text.length >= 8 && id.startsWith(text)
}

async function findAgent(client: Client, text: string): Promise<string> {
  const agents = await takeAll(client.agents())
  const exact = agents.filter(({ agentId, name }) => agentId === text || name === text)
  const found = exact.length > 0 ? exact : agents.filter(({ agentId }) => isBeginning(text, agentId))
  if (found.length === 1) return found[0]!.agentId
  const message =
    found.length === 0
      ? `There is no agent ${text}.`
      : `${found.length} agents are called or begin with ${text}: use more of an id.`
  throw new NotFoundError('AGENT_NOT_FOUND', message)
}
