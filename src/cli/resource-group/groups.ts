import { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { groupOptions } from './group-options.ts'
import { groupTimeouts } from './group-timeouts.ts'
import { slotUse } from '../output/slot-use.ts'

export function groupsCommand(): Command {
  return new Command('groups')
    .description('resource groups: sets of agents with their own queue')
    .addCommand(list(), { isDefault: true })
    .addCommand(create())
    .addCommand(drain())
    .addCommand(resume())
    .addCommand(groupOptions())
    .addCommand(groupTimeouts())
    .addCommand(remove())
}

function list(): Command {
  const command = describedCommand('list', 'list resource groups with what is in use and what waits', [
    'reprise groups',
  ])
  return act(command, async ({ client, out, signal }) => {
    await out.table(
      await client.resourceGroups({ signal }),
      [
        { title: 'GROUP', value: ({ name }) => name },
        { title: 'STATE', value: ({ draining }) => (draining ? 'DRAINING' : 'OPEN') },
        { title: 'WAITING', value: waiting, align: 'right' },
        { title: 'USED', value: ({ slots }) => slots.map(slotUse).join(' '), flexible: true, kept: true },
        { title: 'SELECTOR', value: ({ selector }) => selector, flexible: true },
        { title: 'SEQUENCER', value: ({ sequencer }) => sequencer, flexible: true },
        { title: 'REASON', value: ({ drainReason }) => drainReason ?? '', flexible: true },
      ],
      'no resource groups',
    )
  })
}

function waiting({ pendingSessions }: { pendingSessions: { totalCount: number; totalCountIsExact: boolean } }): string {
  const { totalCount, totalCountIsExact } = pendingSessions
  return totalCountIsExact ? String(totalCount) : `more than ${totalCount}`
}

function create(): Command {
  const command = describedCommand('create', 'create a resource group; agents join it by its name', [
    'reprise groups create tpu',
  ]).argument('<name>')
  return act(command, async ({ client, out }, _options, [name]) => {
    const group = await client.createResourceGroup({ name: name! })
    out.show(group, () => `${group.name}: created; \`REPRISE_RESOURCE_GROUP=${group.name} reprise agent\` joins it`)
  })
}

function drain(): Command {
  const command = describedCommand('drain', 'start nothing new in a group; running kernels finish', [
    'reprise groups drain gpu --reason "new driver"',
  ])
    .argument('<group>')
    .option('--reason <text>', 'reason, stored for later')
  return act<{ reason?: string }>(command, async ({ client, out }, { reason }, [name]) => {
    const group = await client.updateResourceGroup({ name: name!, draining: true, drainReason: reason })
    out.show(group, () => `${group.name}: DRAINING`)
  })
}

function resume(): Command {
  const command = describedCommand('resume', 'give the agents of a group work again', ['reprise groups resume gpu'])
  return act(command.argument('<group>'), async ({ client, out }, _options, [name]) => {
    const group = await client.updateResourceGroup({ name: name!, draining: false })
    out.show(group, () => `${group.name}: OPEN`)
  })
}

function remove(): Command {
  const command = describedCommand('delete', 'delete a group that no agent and no unfinished session belongs to', [
    'reprise groups delete tpu',
  ])
  return act(command.argument('<group>'), async ({ client, out }, _options, [name]) => {
    const deleted = await client.deleteResourceGroup(name!)
    out.show({ deleted }, () => `${deleted}: deleted`)
  })
}
