import { Command } from 'commander'
import type { AgentStatus } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { AGENT_ARGUMENT, findAgent } from '../find/find-agent.ts'
import { choices } from '../options/values.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { statusStyle } from '../output/status-style.ts'
import { slotUse } from '../output/slot-use.ts'
import { relative } from '../output/time.ts'
import { takeAll } from '../session/take.ts'

export function agentsCommand(): Command {
  return new Command('agents')
    .description('list, drain, resume and remove the nodes that run kernels')
    .addCommand(list(), { isDefault: true })
    .addCommand(move('drain', 'start nothing new on an agent; running kernels finish'))
    .addCommand(move('resume', 'give an agent work again'))
    .addCommand(remove())
}

function list(): Command {
  const command = describedCommand('list', 'list agents with their capacity and what is in use', [
    'reprise agents',
    'reprise agents list --status suspect,lost',
  ])
    .addOption(choices('--status <statuses>', 'with one of these', API_ENUMS.AgentStatus))
    .option('--resource-group <group>', 'in this resource group')
  return act<{ status?: AgentStatus[]; resourceGroup?: string }>(command, async ({ client, out, signal }, filter) => {
    const { status, resourceGroup } = filter
    const agents = await takeAll(client.agents({ status, resourceGroup }, { signal }))
    const refusals = { title: 'REFUSES', value: (row: (typeof agents)[number]) => row.refuses, flexible: true } as const
    await out.table(
      agents,
      [
        { title: 'AGENT', value: ({ agentId }) => agentId, id: true },
        { title: 'NAME', value: ({ name }) => name, flexible: true },
        { title: 'STATUS', value: ({ status: word }) => word, style: (row) => statusStyle(row.status), kept: true },
        { title: 'GROUP', value: (row) => row.resourceGroup.name, flexible: true },
        { title: 'USED', value: ({ slots }) => slots.map(slotUse).join(' '), flexible: true, kept: true },
        { title: 'ISOLATION', value: ({ isolation }) => isolation ?? 'unknown' },
        // Why they take no new kernels, if there are such.
        ...(agents.some(({ refuses }) => refuses !== null) ? [refusals] : []),
        { title: 'HEARD', value: ({ lastHeardAt }) => relative(lastHeardAt), align: 'right' },
        { title: 'VERSION', value: ({ version }) => version, flexible: true },
      ],
      'no agents: nothing can run. `reprise serve` includes one; `reprise agent` adds more.',
    )
  })
}

function move(name: 'drain' | 'resume', description: string): Command {
  const command = describedCommand(name, description, [`reprise agents ${name} node-7 --reason "new disk"`])
    .argument('<agent>', AGENT_ARGUMENT)
    .option('--reason <text>', 'reason, stored for later')
  return act<{ reason?: string }>(command, async ({ client, out }, { reason }, [text]) => {
    const id = await findAgent(client, text!)
    const agent = await (name === 'drain' ? client.drainAgent(id, reason) : client.resumeAgent(id, reason))
    out.show(agent, () => `${agent.name} ${agent.agentId}: ${agent.status}`)
  })
}

function remove(): Command {
  const command = describedCommand('remove', 'remove an agent that is lost or drained and has no kernels', [
    'reprise agents remove node-7 --reason "sold"',
  ])
    .argument('<agent>', AGENT_ARGUMENT)
    .option('--reason <text>', 'reason, stored for later')
  return act<{ reason?: string }>(command, async ({ client, out }, { reason }, [text]) => {
    const agent = await client.removeAgent(await findAgent(client, text!), reason)
    out.show(agent, () => `${agent.name} ${agent.agentId}: removed`)
  })
}
