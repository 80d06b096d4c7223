import { Command } from 'commander'
import type { Client, RetryAdvice, RetryBacktest } from '../../client/node/index.ts'
import { act, actOnOne, describedCommand } from '../client-command.ts'
import { beginningWith, findId } from '../find.ts'
import { relative, shortId } from '../output/format.ts'
import type { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { showBacktest } from './backtest.ts'

export function adviceCommand(): Command {
  return new Command('advice')
    .description('show, apply and dismiss what the last 30 days suggest to change')
    .addCommand(list(), { isDefault: true })
    .addCommand(show())
    .addCommand(apply())
    .addCommand(dismiss())
}

interface ListOptions {
  project?: string
  all?: true
}

function list(): Command {
  const command = describedCommand('list', 'list advice, what wastes most first', [
    'reprise advice',
    'reprise advice list --project physics --all',
  ])
    .option('--project <project>', 'of this project only')
    .option('--all', 'also what was applied or dismissed')
  return act<ListOptions>(command, async ({ client, out, signal }, { project, all }) => {
    const query = {
      ...(project === undefined ? { scope: 'CLUSTER' as const } : { scope: 'PROJECT' as const, name: project }),
      ...(all && { states: [...EVERY_STATE] }),
    }
    const found = await client.retryAdvice(query, { signal })
    if (out.json) return out.show(found, () => '')
    if (found.length === 0) return out.note('no advice; the server looks for it once an hour')
    out.print(found.map((advice) => textOf(advice, out.terminal)).join('\n\n'))
    const open = found.filter(({ state }) => state === 'OPEN')
    if (open.length > 0) out.note('\nreprise advice show ID tries a change on the past; apply ID makes it')
  })
}

const EVERY_STATE = ['OPEN', 'DISMISSED', 'APPLIED'] as const
const NARROW = 80

function textOf(advice: RetryAdvice, terminal: Terminal): string {
  const { adviceId, project, finding, change, state, stateBy, stateAt, canApply } = advice
  const done = state === 'OPEN' ? [] : [`${state.toLowerCase()} by ${stateBy ?? 'somebody'} ${relative(stateAt)}`]
  const facts = [shortId(adviceId, terminal), project?.name ?? 'machines', wasteOf(advice), ...done]
  const width = Math.min(terminal.columns ?? NARROW, NARROW)
  const mark = canApply ? '→' : '·'
  return [
    terminal.style('dim', facts.join('  ')),
    ...wrapped(finding, width, ''),
    ...wrapped(`${mark} ${change}`, width, '  ').map((line) => terminal.style('cyan', line)),
  ].join('\n')
}

function wasteOf({ slotSecondsWasted, gibHoursWasted }: RetryAdvice): string {
  if (gibHoursWasted > 0 && slotSecondsWasted === 0) return `${amount(gibHoursWasted)} GiB hours`
  return `${amount(slotSecondsWasted / 3_600)} CPU hours`
}

function amount(value: number): string {
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en')
}

/** Breaks at spaces; lines but the first are indented. */
function wrapped(text: string, width: number, indent: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(lines.length === 0 ? word : `${indent}${word}`)
  }
  return lines
}

const ADVICE_ARGUMENT = 'id of the advice, or its beginning'

function findAdvice(client: Client, text: string): Promise<string> {
  return findId(text, {
    noun: 'advice',
    code: 'ADVICE_NOT_FOUND',
    beginning: async (prefix) => {
      const all = await client.retryAdvice({ scope: 'CLUSTER', states: [...EVERY_STATE] })
      return beginningWith(
        prefix,
        all.map(({ adviceId, project }) => ({ id: adviceId, name: project?.name })),
      )
    },
  })
}

function show(): Command {
  const command = describedCommand('show', 'show advice, and what its change would have made of the last 30 days', [
    'reprise advice show 01990000-0000-7000-8000-000000000000',
  ]).argument('<advice>', ADVICE_ARGUMENT)
  return act(command, async ({ client, out, signal }, _options, [text]) => {
    const { advice, backtest } = await client.backtestRetryAdvice(await findAdvice(client, text!), { signal })
    if (out.json) return out.show({ ...advice, backtest }, () => '')
    out.print(textOf(advice, out.terminal))
    if (advice.exampleChainIds.length > 0) {
      const ids = advice.exampleChainIds.map((id) => `  ${shortId(id, out.terminal)}`)
      out.print(['\nits newest chains', ...ids].join('\n'))
    }
    if (backtest !== null) await showPast(backtest, out)
  })
}

async function showPast(backtest: RetryBacktest, out: Output): Promise<void> {
  out.print(`\n${out.terminal.style('dim', 'if the change had been made, laid over the policy that each chain had')}`)
  await showBacktest(backtest, out)
}

function apply(): Command {
  const command = describedCommand('apply', 'make the change that advice suggests', [
    'reprise advice apply 01990000-0000-7000-8000-000000000000',
  ])
    .argument('<advice>', ADVICE_ARGUMENT)
    .option('--reason <text>', 'reason, stored for later')
  return actOnOne(
    command,
    async (client, text, { reason }: { reason?: string }) =>
      client.applyRetryAdvice({ adviceId: await findAdvice(client, text), reason }),
    ({ change }) => `Applied: ${change}`,
  )
}

function dismiss(): Command {
  const command = describedCommand('dismiss', 'hide advice until its evidence has doubled', [
    'reprise advice dismiss 01990000-0000-7000-8000-000000000000 --reason "these retries are cheap"',
  ])
    .argument('<advice>', ADVICE_ARGUMENT)
    .option('--undo', 'show it again')
    .option('--reason <text>', 'reason, stored for later')
  return actOnOne(
    command,
    async (client, text, { reason, undo }: { reason?: string; undo?: true }) =>
      client.dismissRetryAdvice({ adviceId: await findAdvice(client, text), dismissed: !undo, reason }),
    ({ finding, state }) => `${state === 'OPEN' ? 'Open again' : 'Dismissed'}: ${finding}`,
  )
}
