import type { Command } from 'commander'
import type { BacktestBase, RetryBacktest } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { addFilterOptions, type FilterOptions, readFilter } from '../options/filter-options.ts'
import { addPolicyOptions, type PolicyOptions, readPolicy } from '../options/policy-options.ts'
import { choice, past } from '../options/values.ts'
import { counted, duration, instant } from '../output/format.ts'
import { type Output, progressBar } from '../output/output.ts'
import { type Column, formatTable } from '../output/table.ts'
import { readAirflowSettings } from './policy.ts'

interface BacktestOptions extends PolicyOptions, FilterOptions {
  over?: BacktestBase
  airflow?: string
  name?: string
}

/** The number of names of lost successes that are listed. */
const NAMES_SHOWN = 10
const BAR = 1_000

export function backtestCommand(): Command {
  const command = describedCommand('backtest', 'show what another policy would have made of finished chains', [
    'reprise backtest --policy policy.json --since 30d',
    `reprise backtest --over own-policy --rule 'fail exit=64' --name train`,
    `reprise backtest --retries 5 --airflow '{"retries": 5, "retry_exponential_backoff": true}' --json`,
  ])
    .option(
      '--since <time>',
      'of which an attempt ended since this time, or a duration ago like 7d (default: 30d)',
      past,
    )
    .option('--before <time>', 'of which it ended before this time', past)
    .option('--name <name>', 'the same as --with-name')
    .addOption(
      choice(
        '--over <base>',
        'what missing fields come from: the defaults (default), or the policy that each chain had, whose rules follow',
        API_ENUMS.BacktestBase,
      ),
    )
    .option('--airflow <settings>', 'compares with an Airflow operator: JSON, a JSON file, or - for standard input')
  addFilterOptions(addPolicyOptions(command), CREATED)
  return act<BacktestOptions>(
    command,
    async ({ client, out, signal }, { over, airflow, name, since, before, ...options }) => {
      const query = {
        policy: readPolicy(options) ?? {},
        base: over,
        airflow: airflow === undefined ? undefined : readAirflowSettings(airflow),
        filter: readFilter({ ...options, ...(name !== undefined && { withName: name }) }),
        window: { from: since, to: before },
      }
      const bar = progressBar('backtest')
      try {
        for await (const { share, chains, backtest } of client.followRetryBacktest(query, { signal })) {
          bar.update(Math.round(share * BAR), BAR, counted(chains, 'chain'))
          if (backtest === null) continue
          bar.end()
          await showBacktest(backtest, out)
        }
      } finally {
        bar.end()
      }
    },
    { follow: true },
  )
}

/** `--since` and `--before` mean the end. */
const CREATED = { since: '--created-since <time>', before: '--created-before <time>' }

export async function showBacktest(found: RetryBacktest, out: Output): Promise<void> {
  if (out.json) return out.show(found, () => '')
  const { recorded, from, to, isComplete, outcomes, airflow } = found
  const { chains, attempts, slotSeconds, succeeded } = recorded
  const cut = isComplete ? '' : ' (the newest; there are more)'
  out.print(`${counted(chains, 'chain')}${cut}, ${instant(from)} to ${instant(to)}`)
  if (chains === 0) return
  out.print(`${counted(attempts, 'attempt')}, ${duration(slotSeconds)} of CPU time, ${succeeded} succeeded`)
  out.print('')
  out.print(await tableOf(outcomes, out))
  for (const line of notesOf(outcomes)) out.print(line)
  if (airflow === null) return
  out.print('')
  out.print(out.terminal.style('dim', "under Airflow's settings"))
  out.print(await tableOf(airflow.outcomes, out))
  for (const line of [...notesOf(airflow.outcomes), ...airflow.explanation.differs.map((each) => `≠ ${each}`)])
    out.print(line)
}

type Outcomes = RetryBacktest['outcomes']

interface Row {
  outcome: string
  chains: number
  attempts: string | null
  cpu: string | null
  time: string | null
  successes: string | null
}

const COLUMNS: readonly Column<Row>[] = [
  { title: '', value: ({ outcome }) => outcome, kept: true },
  { title: 'CHAINS', value: ({ chains }) => chains, align: 'right', kept: true },
  { title: 'ATTEMPTS', value: ({ attempts }) => attempts, align: 'right', kept: true },
  { title: 'CPU TIME', value: ({ cpu }) => cpu, align: 'right' },
  { title: 'TIME', value: ({ time }) => time, align: 'right' },
  { title: 'SUCCESSES', value: ({ successes }) => successes, align: 'right', kept: true },
]

function tableOf({ same, earlier, longer, unknown }: Outcomes, { terminal }: Output): Promise<string> {
  const sum = (of: (each: Outcomes['unknown'][number]) => number) => unknown.reduce((all, each) => all + of(each), 0)
  const nothing = { attempts: null, cpu: null, time: null, successes: null }
  const { successes, low, high } = longer.expected
  const rows: Row[] = [
    { ...nothing, outcome: 'end alike', chains: same.chains, time: signed(same.laterSeconds, duration) },
    {
      outcome: 'stop earlier',
      chains: earlier.chains,
      attempts: signed(-earlier.attempts, String),
      cpu: signed(-earlier.slotSeconds, duration),
      time: signed(-earlier.seconds, duration),
      successes: signed(-earlier.successesLost, String),
    },
    {
      ...nothing,
      outcome: 'continue longer',
      chains: longer.chains,
      attempts: atMost(signed(longer.attempts, String)),
      cpu: atMost(signed(longer.slotSeconds, duration)),
      successes: longer.chains === 0 ? null : `+${tenth(successes)} (${tenth(low)} to ${tenth(high)})`,
    },
    {
      ...nothing,
      outcome: 'unknown',
      chains: sum(({ chains }) => chains),
      attempts: atMost(
        signed(
          sum(({ attempts }) => attempts),
          String,
        ),
      ),
      cpu: atMost(
        signed(
          sum(({ slotSeconds }) => slotSeconds),
          duration,
        ),
      ),
    },
  ]
  return formatTable(rows, COLUMNS, terminal)
}

function signed(value: number, words: (value: number) => string): string | null {
  if (value === 0) return null
  return `${value < 0 ? '−' : '+'}${words(Math.abs(value))}`
}

function atMost(text: string | null): string | null {
  return text && `≤ ${text}`
}

function tenth(value: number): string {
  return value.toFixed(1)
}

const REASONS: Readonly<Record<Outcomes['unknown'][number]['reason'], string>> = {
  NO_COMPARABLE: 'more retries, and too few recorded ones are comparable',
  OTHER_SIZE: 'other resources or another timeout, which decide',
  OTHER_TIME: 'a retry when the outage may or may not have been over',
  TOO_LONG: 'too many attempts',
}

function notesOf({ earlier, longer, unknown }: Outcomes): string[] {
  const lost = earlier.lost.slice(0, NAMES_SHOWN).map(({ name, successes }) => `  ${successes} × ${name}`)
  const more = earlier.lost.length - lost.length
  const { chains, comparable } = longer.expected
  return [
    ...(lost.length === 0
      ? []
      : ['successes lost:', ...lost, ...(more > 0 ? [`  and ${counted(more, 'more name')}`] : [])]),
    ...(chains === 0
      ? []
      : [
          `expected successes: of ${counted(chains, 'chain')}, by ${counted(comparable, 'comparable retry', 'comparable retries')} (95 % interval)`,
        ]),
    ...unknown.map((each) => `unknown: ${each.chains} with ${REASONS[each.reason]}`),
  ]
}
