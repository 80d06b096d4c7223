import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type FragmentDefinitionNode, isInputObjectType, isObjectType, Kind, parse } from 'graphql'
import { describe, expect, it, test } from 'vitest'
import { explainCheckpointShortage } from '../../src/domain/quota.ts'
import { convertAirflowSettings, parseAirflowSettings } from '../../src/domain/retry/airflow.ts'
import { SHIPPED_POLICY } from '../../src/domain/retry/policy/policy.ts'
import { PRESETS } from '../../src/domain/retry/policy/resolve-policy.ts'
import { parseRetryPolicy } from '../../src/domain/retry/policy/stored-policy.ts'
import { CAPACITY_IS_RESERVED, explainPending, type PendingFacts } from '../../src/domain/scheduling/explain-pending.ts'
import { parseQuantities } from '../../src/domain/scheduling/resource-request.ts'
import { DEFAULT_CAUSES, ELIGIBLE_CAUSES, FAILURE_CAUSES } from '../../src/domain/session/failure.ts'
import { schema } from '../../src/graphql/schema.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { agentWith, request } from '../unit/scheduling/lines.ts'
import { codeIn, proseOf } from './document-tables.ts'
import { outcomeOf } from './policy-examples.ts'
import { type Example, examplesIn, tableIn } from './policy-reference.ts'
import { ROOT } from './source-files.ts'

/** docs/retry-policy.md says what the code does, and all that it can. */
describe('the page on the retry policy', async () => {
  const text = await readFile(join(ROOT, 'docs/retry-policy.md'), 'utf8')
  const fields = tableIn(text, '| field | type | default |')

  function inputFields(name: string): Record<string, string> {
    const type = schema.getType(name)
    if (!isInputObjectType(type)) throw new Error(`${name} is no input`)
    return Object.fromEntries(Object.values(type.getFields()).map((field) => [field.name, String(field.type)]))
  }

  function documented(rows: readonly string[][]): Record<string, string> {
    return Object.fromEntries(rows.map(([name, type]) => [unquoted(name!), unquoted(type!)]))
  }

  function unquoted(cell: string): string {
    return cell.replaceAll('`', '')
  }

  describe('the fields', () => {
    it('are those of the GraphQL input, with their types', () => {
      expect(documented(fields)).toEqual(inputFields('RetryPolicyInput'))
    })

    it('are those of the shipped policy, with its values', () => {
      const defaults = fields
        .filter(([name]) => name !== '`preset`')
        .map(([name, , value]) => [
          unquoted(name!),
          value === 'all but `HUNG`' ? [...DEFAULT_CAUSES] : JSON.parse(unquoted(value!)),
        ])
      expect(Object.fromEntries(defaults)).toEqual(SHIPPED_POLICY)
      expect(defaults).toHaveLength(Object.keys(SHIPPED_POLICY).length)
    })

    it.each([
      ['| field of a rule |', 'RetryRuleInput'],
      ['| field of `match` |', 'RetryRuleMatchInput'],
    ])('%s are those of %s', (header, input) => {
      expect(documented(tableIn(text, header))).toEqual(inputFields(input))
    })

    it('of growth are those of its inputs', () => {
      const names = tableIn(text, '| field of growth |').map(([name]) => unquoted(name!))
      const inputs = (type: string) => new Set(Object.keys(inputFields(type)))
      expect(inputs('RetryGpuMemoryGrowthInput')).toEqual(inputs('RetryTimeoutGrowthInput'))
      expect(new Set(names)).toEqual(inputs('RetrySlotGrowthInput'))
      expect(new Set(names.filter((name) => name !== 'slot' && name !== 'from'))).toEqual(
        inputs('RetryTimeoutGrowthInput'),
      )
    })
  })

  it('are all asked for by the client', async () => {
    const { definitions } = parse(await readFile(join(ROOT, 'src/client/operations/fragments.graphql'), 'utf8'))
    const fragments = definitions.filter(
      (each): each is FragmentDefinitionNode => each.kind === Kind.FRAGMENT_DEFINITION,
    )
    const ofPolicies = fragments.filter(({ name }) => ['Policy', 'PartialPolicy', 'Rule'].includes(name.value))
    expect(ofPolicies).toHaveLength(3)
    for (const { typeCondition, selectionSet } of ofPolicies) {
      const type = schema.getType(typeCondition.name.value)
      if (!isObjectType(type)) throw new Error(`${typeCondition.name.value} is not shown`)
      const asked = selectionSet.selections.flatMap((each) => (each.kind === Kind.FIELD ? [each.name.value] : []))
      expect(asked.toSorted()).toEqual(Object.keys(type.getFields()).toSorted())
    }
  })

  describe('the bounds', () => {
    const accepts = (name: string, value: unknown) => 'policy' in parseRetryPolicy({ [name]: value })

    it.each(fields.map(([name, , , bounds]) => [unquoted(name!), bounds!]))('%s: %s', (name, bounds) => {
      const range = /^(\d+)…(\d+)$/.exec(bounds)
      const quoted = [...bounds.matchAll(/`(\w+)`/g)].map(([, word]) => word!)
      if (range) {
        const [low, high] = [Number(range[1]), Number(range[2])]
        expect([low - 1, low, high, high + 1].map((value) => accepts(name, value))).toEqual([false, true, true, false])
      } else if (bounds.startsWith('> 0')) {
        expect([0, 0.001, 1e9].map((value) => accepts(name, value))).toEqual([false, true, true])
        const parsed = parseRetryPolicy({ [name]: null })
        expect('policy' in parsed && name in parsed.policy).toBe(bounds.endsWith('or null'))
      } else if (bounds.startsWith('≥ 1 or null')) {
        expect([0.999, 1, null].map((value) => accepts(name, value))).toEqual([false, true, true])
      } else if (name === 'delays') {
        const [fewest, most, least, longest] = [...bounds.matchAll(/\d+/g)].map(Number)
        const table = (length: number, delay = 1) => Array.from({ length }, () => delay)
        const lengths = [fewest! - 1, fewest!, most!, most! + 1]
        expect(lengths.map((length) => accepts(name, table(length)))).toEqual([false, true, true, false])
        const delays = [least! - 1, least!, longest!, longest! + 1]
        expect(delays.map((delay) => accepts(name, table(1, delay)))).toEqual([false, true, true, false])
        expect(accepts(name, null)).toBe(true)
      } else if (bounds.startsWith('at most ')) {
        const max = Number(bounds.slice('at most '.length))
        const rules = (length: number) => Array.from({ length }, () => ({ match: {}, action: 'FAIL' }))
        expect([max, max + 1].map((length) => accepts(name, rules(length)))).toEqual([true, false])
      } else if (name === 'eligibleCauses') {
        expect(quoted).toEqual([...ELIGIBLE_CAUSES])
      } else if (name === 'preset') {
        const headings = [...text.slice(text.indexOf('\n## Presets')).matchAll(/^### (\w+)$/gm)].map(([, word]) => word)
        expect(headings).toEqual(Object.keys(PRESETS))
      } else {
        const values: unknown[] = quoted.map((word) => (word === 'true' || word === 'false' ? word === 'true' : word))
        expect(values.length).toBeGreaterThan(1)
        expect(values.every((value) => accepts(name, value))).toBe(true)
        expect(accepts(name, 'OTHER')).toBe(false)
      }
    })
  })

  it('has every cause, and whether it can be retried', () => {
    const causes = tableIn(text, '| cause | retried |').map(([cause, retried]) => [unquoted(cause!), retried])
    const eligible: readonly string[] = ELIGIBLE_CAUSES
    expect(causes).toEqual(FAILURE_CAUSES.map((cause) => [cause, eligible.includes(cause) ? 'if eligible' : 'never']))
  })

  it('has the exit codes of CMS_EXIT_CODES', () => {
    const rows = tableIn(text, '| exit codes | the retry has |').map(([codes]) => codes!.split(', ').map(Number))
    const rules = PRESETS.CMS_EXIT_CODES.rules!.flatMap(({ match: { exitCodes } }) => (exitCodes ? [exitCodes] : []))
    expect(rows.slice(0, -1)).toEqual(rules)
  })

  describe('the examples', () => {
    const examples = examplesIn(text)

    it('are all on the page, each with its result', async () => {
      const blocks = await blocksOfTest('test/guard/retries.test.ts')
      expect(examples.map(({ policy }) => policy)).toEqual(blocks.map((block) => JSON.parse(block.text)))
      expect(examples.length).toBeGreaterThan(10)
      expect(examples.filter(({ outcomes }) => outcomes.length === 0)).toEqual([])
      expect(examples.flatMap(({ outcomes }) => outcomes).length).toBeGreaterThan(40)
    })

    const lines = examples.flatMap(({ heading, policy, outcomes }) =>
      outcomes.map(([ended, ...follows]) => ({ heading, policy, ended: ended!, follows })),
    )
    it.each(lines)('$heading: $ended', ({ policy, ended, follows }) => {
      expect(outcomeOf(policy, unquoted(ended))).toEqual(follows)
    })

    it('for Airflow follows from the settings beside it', () => {
      const [, written] = /airflowPolicyPreview\(settings: \{([^}]*)\}\)/.exec(text)!
      const parsed = parseAirflowSettings(JSON.parse(`{${written!.replaceAll(/(\w+):/g, '"$1":')}}`))
      if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues))
      const shown = examples.find(({ heading }) => heading === 'Coming from Airflow') as Example
      expect(convertAirflowSettings(parsed.settings).policy).toEqual(shown.policy)
    })
  })
})

describe('reasons to be pending', () => {
  const GIB = String(2 ** 30)

  /** docs/scheduling.md has every text that says why a session waits, and no other. */

  const FREE: Omit<PendingFacts, 'lastingRequest'> = {
    group: 'g',
    sequencer: 'FIFO',
    dependencies: { total: 0, open: 0, failed: null, awaited: null },
    startsAt: null,
    checkpoint: null,
    checkpointQuota: null,
    restsForMs: null,
    drained: null,
    lastError: null,
    request: request({ cpu: '4' }),
    agents: [agentWith('a', { cpu: '8', mem: GIB })],
    otherAgents: [],
    absent: {},
    quotas: [],
    key: null,
    before: 0,
  }

  const one = (capacity: Record<string, string>, free = capacity) => ({ agents: [agentWith('a', capacity, free)] })
  const two = (capacity: Record<string, string>, free = capacity) => ({
    agents: [agentWith('a', capacity, free), agentWith('b', capacity, free)],
  })
  const crossed = [agentWith('a', { cpu: '8', mem: '1' }), agentWith('b', { cpu: '1', mem: GIB })]
  const crossedNow = [
    agentWith('a', { cpu: '8', mem: GIB }, { cpu: '8', mem: '1' }),
    agentWith('b', { cpu: '8', mem: GIB }, { cpu: '1', mem: GIB }),
  ]
  const wide = request({ cpu: '4' }, { size: 8, mode: 'MULTI_NODE' })
  const reserved = agentWith('a', { cpu: '8' })
  reserved.free.set('cpu', 0n)
  reserved.reserved.set('cpu', 8_000_000_000n)

  const quota = (of: { maxRunning?: number; slots?: Record<string, string>; used?: Record<string, string> }) => ({
    name: 'project p',
    slots: parseQuantities(of.slots ?? {}),
    usedSlots: new Map(parseQuantities(of.used ?? {})),
    maxRunning: of.maxRunning ?? null,
    running: of.maxRunning ?? 0,
  })

  const held = (of: { held: number; before: number; holders?: string[] }) => ({
    key: { key: 'k', limit: 2, holders: [], ...of },
  })

  const EACH: Partial<PendingFacts>[] = [
    { dependencies: { total: 2, open: 0, failed: '01a2', awaited: null } },
    { startsAt: '2026-11-22T12:00:00.000Z' },
    { dependencies: { total: 2, open: 1, failed: null, awaited: null } },
    { checkpoint: 'its checkpoint of attempt 2 is on agent a, which is LOST' },
    { checkpoint: 'its checkpoint of attempt 2 is on agent a, where it may not go' },
    { checkpoint: 'no agent has its checkpoint of attempt 2' },
    {
      checkpointQuota: explainCheckpointShortage({
        scope: 'PROJECT',
        name: 'p',
        bytes: 12 * 2 ** 30,
        maxBytes: 10 * 2 ** 30,
      }),
    },
    { restsForMs: 12_000, lastError: 'agent a was silent for 40 s' },
    { restsForMs: 12_000 },
    { drained: 'resource group g is being drained: the machines move' },
    { agents: [], absent: { LOST: 2, DRAINING: 1 } },
    { request: request({ cpu: '4' }, { allowAgents: ['b'] }) },
    { request: request({ cpu: '4' }, { excludeAgents: ['a'] }) },
    {
      request: request({ cpu: '4' }, { needsPorts: true }),
      agents: [agentWith('a', { cpu: '8' }, {}, {}, null, false)],
    },
    { request: request({ cpu: '16' }) },
    { request: request({ cpu: '16' }), otherAgents: [agentWith('b', { cpu: '32' })] },
    { request: request({ cpu: '4', mem: GIB }), agents: crossed },
    {
      request: request({ cpu: '4', mem: GIB }),
      agents: crossed,
      otherAgents: [agentWith('c', { cpu: '8', mem: GIB })],
    },
    { request: wide, ...two({ cpu: '8' }) },
    { request: wide, ...two({ cpu: '8' }), otherAgents: [agentWith('c', { cpu: '32' })] },
    one({ cpu: '8' }, { cpu: '3' }),
    { request: request({ cpu: '4', mem: GIB }), agents: crossedNow },
    { request: wide, ...two({ cpu: '32' }, { cpu: '8' }) },
    { key: { key: 'k', held: 1, limit: 1, holders: ['01a2'], before: 0 } },
    held({ held: 2, holders: ['01a2', '01a3'], before: 0 }),
    held({ held: 2, holders: ['01a2', '01a3'], before: 12 }),
    held({ held: 1, before: 12 }),
    { quotas: [quota({ maxRunning: 2 })] },
    { quotas: [quota({ slots: { cpu: '8' }, used: { cpu: '6' } })] },
    { quotas: [quota({ slots: { cpu: '2' } })] },
    { agents: [reserved] },
    {},
    { before: 12 },
    { sequencer: 'DRF', before: 12 },
  ]

  test('docs/scheduling.md has each reason, and each that it has is given', async () => {
    const given = [
      ...new Set(
        EACH.map((facts) => explainPending({ ...FREE, lastingRequest: facts.request ?? FREE.request, ...facts }).text),
      ),
    ]
    expect(given).toContain(CAPACITY_IS_RESERVED)
    const section = (await proseOf('docs/scheduling.md')).split('## Why a session waits')[1]!.split('\n## ')[0]!
    const rows = section.split('\n').filter((line) => line.startsWith('| `'))
    const told = rows.flatMap((row) => codeIn(row.split(' | ')[0]!))
    expect(given.filter((reason) => !told.some((text) => patternOf(text).test(reason)))).toEqual([])
    expect(told.filter((text) => !given.some((reason) => patternOf(text).test(reason)))).toEqual([])
  })

  /** Numbers may differ, and `…` is any text. */
  function patternOf(text: string): RegExp {
    const pieces = text.split(/(\d+|…)/).map((piece, index) => {
      if (index % 2 === 0) return piece.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
      return piece === '…' ? '.+' : String.raw`\d+`
    })
    return new RegExp(`^${pieces.join('')}$`)
  }
})
