import { Command } from 'commander'
import { type AgentStatus, NotFoundError } from '../client/node/index.ts'
import { act, actAsList, actOnOne, describedCommand, takeAll } from './client-command.ts'
import { AGENT_ARGUMENT, findAgent } from './find.ts'
import { UsageError } from './present-error.ts'
import { choices } from './options/values.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'
import { statusStyle } from './output/terminal.ts'
import { binaryBytes, relative, slotUse } from './output/format.ts'

export function agentsCommand(): Command {
  return new Command('agents')
    .description('list, drain, resume and remove agents, which run kernels')
    .addCommand(list(), { isDefault: true })
    .addCommand(gpus())
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
      const { status, resourceGroup, name: part } = filter
      const named = part === undefined ? undefined : { contains: part }
      const agents = await takeAll(client.agents({ status, resourceGroup, name: named }, { signal }))
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

function gpus(): Command {
  const command = describedCommand(
    'gpus',
    'list the GPUs of agents: model, memory, use, and which are out of service',
    [
      'reprise agents gpus',
      'reprise agents gpus node-7',
      'reprise agents gpus node-7 --take GPU-5d5ba0d6 --reason "fan noise"',
      'reprise agents gpus node-7 --return GPU-5d5ba0d6',
    ],
  )
    .argument('[agent]', AGENT_ARGUMENT)
    .option('--return <uuid>', 'put this GPU of the agent back into service; the beginning of its UUID is enough')
    .option('--take <uuid>', 'take this GPU of the agent out of service until it is returned; its sessions run on')
    .option('--reason <text>', 'reason, stored for later')
  return act<{ return?: string; take?: string; reason?: string }>(
    command,
    async ({ client, out, signal }, options, [text]) => {
      const only = text === undefined ? null : await findAgent(client, text)
      if (options.return !== undefined && options.take !== undefined)
        throw new UsageError('--return and --take exclude each other')
      if (options.return !== undefined) return change(only, options.return, 'return')
      if (options.take !== undefined) return change(only, options.take, 'take')
      const agents = await takeAll(client.agents({}, { signal }))
      const chosen = agents.filter(({ agentId }) => only === null || agentId === only)
      for (const { name, gpuFault } of chosen) if (gpuFault !== null) out.note(`${name}: ${gpuFault}`)
      const rows = chosen.flatMap((agent) => agent.gpus.map((gpu) => ({ agent: agent.name, ...gpu })))
      await out.table(
        rows,
        [
          { title: 'AGENT', value: ({ agent }) => agent, flexible: true },
          { title: 'GPU', value: ({ index }) => index, align: 'right' },
          { title: 'MODEL', value: ({ name }) => name, flexible: true, kept: true },
          { title: 'MEMORY', value: ({ memoryBytes }) => bytesOr(memoryBytes), align: 'right' },
          { title: 'USED', value: ({ usedMemoryBytes }) => bytesOr(usedMemoryBytes), align: 'right' },
          { title: 'BUSY', value: ({ utilization }) => percentOr(utilization), align: 'right' },
          { title: '°C', value: ({ temperatureCelsius }) => temperatureCelsius ?? '', align: 'right' },
          { title: 'STATE', value: stateOf, flexible: true, kept: true },
          { title: 'UUID', value: ({ uuid }) => uuid, flexible: true },
        ],
        'no GPUs: agents list those that nvidia-smi or rocm-smi shows (REPRISE_GPUS).',
      )
      return 0

      async function change(agentId: string | null, start: string, how: 'return' | 'take'): Promise<number> {
        if (agentId === null) throw new UsageError(`--${how} needs the agent that has the GPU`)
        const [state, done] =
          how === 'return' ? ['out of service', 'returns to service'] : ['in service', 'goes out of service']
        const all = await takeAll(client.agents({}, { signal }))
        const { gpus: known } = all.find((agent) => agent.agentId === agentId)!
        const [gpu, another] = known.filter(
          ({ uuid, fault }) => (fault !== null) === (how === 'return') && uuid.startsWith(start),
        )
        if (gpu === undefined)
          throw new NotFoundError('GPU_NOT_FOUND', `The agent has no GPU ${start} that is ${state}.`)
        if (another !== undefined) throw new UsageError(`several GPUs that are ${state} begin with ${start}`)
        const send = how === 'return' ? client.returnGpu : client.takeGpu
        const agent = await send(agentId, gpu.uuid, options.reason)
        out.show(agent, () => `${agent.name}: GPU ${gpu.index} (${gpu.uuid}) ${done}`)
        return 0
      }
    },
  )
}

function bytesOr(bytes: number | null): string {
  return bytes === null ? '' : binaryBytes(bytes)
}

function percentOr(share: number | null): string {
  return share === null ? '' : `${Math.round(share * 100)} %`
}

interface GpuState {
  fault: string | null
  inUse: boolean
  sessions: readonly { sessionId: string; name: string }[]
}

function stateOf({ fault, inUse, sessions }: GpuState): string {
  if (fault !== null) return `out of service: ${fault}`
  if (!inUse) return 'free'
  const [one] = sessions
  return one === undefined
    ? 'in use'
    : `in use: ${sessions.map(({ name, sessionId }) => `${name} (${sessionId})`).join(', ')}`
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
