import type { Command } from 'commander'
import { act, collect, describedCommand } from '../client-command.ts'
import { findGroup, type Group } from '../find/find-group.ts'
import { pairs } from '../options/session-options.ts'
import { formatFields } from '../output/fields.ts'
import type { Terminal } from '../output/terminal.ts'

interface ExecutorOptions {
  option?: [string, string][]
  allow?: string[]
}

export function groupOptions(): Command {
  const command = describedCommand('options', 'show what executors are told in a group, or change it', [
    'reprise groups options default',
    'reprise groups options default --option partition=batch --allow qos --allow constraint',
  ])
    .argument('<group>')
    .option(
      '--option <key=value>',
      'for all its sessions; may be repeated, replaces those before; `none`: none',
      orEmpty(pairs),
    )
    .option(
      '--allow <key>',
      'what sessions may set themselves; may be repeated, replaces those before; `none`: nothing',
      orEmpty(collect),
    )
  return act<ExecutorOptions>(command, async ({ client, out, signal }, { option, allow }, [name]) => {
    const change = {
      executorOptions: option?.map(([key, value]) => ({ key, value })),
      allowedExecutorOptions: allow,
    }
    const group =
      option || allow
        ? await client.updateResourceGroup({ name: name!, ...change })
        : await findGroup(client, name!, signal)
    out.show(group, () => optionsOf(group, out.terminal))
  })
}

/** Collects what is given; `none` empties the list. */
function orEmpty<Item>(more: (text: string, earlier?: Item[]) => Item[]): (text: string, earlier?: Item[]) => Item[] {
  return (text, earlier) => (text === 'none' ? [] : more(text, earlier))
}

function optionsOf(
  { executorOptions, allowedExecutorOptions }: Pick<Group, 'executorOptions' | 'allowedExecutorOptions'>,
  terminal: Terminal,
): string {
  const options = executorOptions.map(({ key, value }) => `${key}=${value}`)
  return formatFields(
    [
      ['options', options.join(', ') || 'none'],
      ['sessions may set', allowedExecutorOptions.join(', ') || 'none'],
    ],
    terminal,
  )
}
