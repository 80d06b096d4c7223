import { spawnSync } from 'node:child_process'
import { Command } from 'commander'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addPolicyOptions, readPolicy } from '../../../src/cli/options/policy-options.ts'
import { SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import { DEFAULT_CAUSES } from '../../../src/domain/session/failure.ts'
import { readSession } from '../../../src/ui/pages/new-session/session-draft.ts'
import { sessionAsCommand, shellQuoted, shellWords } from '../../../src/ui/pages/new-session/session-text.ts'
import { readTiming } from '../../../src/ui/pages/new-session/timing.ts'
import { draftOf, readPolicySearch, searchOf } from '../../../src/ui/pages/policy/policy-search.ts'
import { draftOfPolicy, policyAsCommand, readDraft, untypedOf } from '../../../src/ui/policy/policy-draft.ts'
import { CAUSES, POLICY_FIELDS } from '../../../src/ui/policy/policy-fields.ts'
import { placeIssues } from '../../../src/ui/policy/read-preview.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('a new session', () => {
  describe('words of a line', () => {
    test.each([
      ['python train.py  --epochs 20', ['python', 'train.py', '--epochs', '20']],
      [`sh -c 'echo "a b"; exit 3'`, ['sh', '-c', 'echo "a b"; exit 3']],
      [`echo "it's" "" a\\ b "\\$HOME \\n"`, ['echo', "it's", '', 'a b', String.raw`$HOME \n`]],
      ['one \\\n  two\nthree', ['one', 'two', 'three']],
      ['', []],
    ])('%j', (line, wanted) => {
      expect(shellWords(line)).toEqual(wanted)
      // The words that a real shell reads.
      const printed = spawnSync('sh', ['-c', `printf '%s\\0' x ${line.replaceAll('\n', ' ').replaceAll('\\ ', '" "')}`])
      if (!line.includes('\n')) expect(printed.stdout.toString().split('\0').slice(1, -1)).toEqual(wanted)
    })

    test.each(["echo 'open", 'echo "open'])('%s has an open quote', (line) => {
      expect(shellWords(line)).toBeNull()
    })

    test('quoted text is one word again', () => {
      checkProperty(
        fc.property(fc.array(fc.string()), (words) => {
          expect(shellWords(words.map(shellQuoted).join(' '))).toEqual(words)
        }),
      )
    })
  })

  describe('input of a session', () => {
    test('is sent as it is typed, and empty fields are not sent', () => {
      const { input, faults } = readSession({
        command: '/usr/bin/python train.py',
        env: 'A=1\nB=x=y\n',
        labels: 'team=cms ',
        mem: '4g',
        slots: 'cuda.device=1',
        timeout: '1.5h',
        retries: '2',
        image: ' ',
      })
      expect(faults).toEqual({})
      expect(input).toEqual({
        name: 'python',
        command: ['/usr/bin/python', 'train.py'],
        environ: [
          { name: 'A', value: '1' },
          { name: 'B', value: 'x=y' },
        ],
        labels: [{ key: 'team', value: 'cms' }],
        resourceSlots: [
          { slot: 'mem', amount: '4g' },
          { slot: 'cuda.device', amount: '1' },
        ],
        batchTimeout: 5400,
        retryPolicy: { maxRetries: 2 },
      })
    })

    test('shows faults at their fields, also those of the server', () => {
      const { faults, places } = readSession({
        env: 'A',
        priority: 'high',
        timeout: 'soon',
        cpu: '1',
        slots: 'x=1\ny=2',
      })
      expect(Object.keys(faults).toSorted()).toEqual(['command', 'env', 'priority', 'timeout'])
      expect(places).toMatchObject({
        'resourceSlots.0': 'cpu',
        'resourceSlots.1': 'slots',
        'resourceSlots.2': 'slots',
        'retryPolicy.retryDelay': 'delay',
      })
    })

    test('is a command with options, and with the policy from standard input where options are not enough', () => {
      const draft = {
        command: `sh -c 'exit 3'`,
        name: 'two words',
        cpu: '0.5',
        slots: 'cuda.device=1',
        retries: '3',
        delay: '5 m',
      }
      expect(sessionAsCommand(draft, readSession(draft).input, null)).toBe(
        [
          'npx reprise create',
          `--name 'two words'`,
          '--cpu 0.5',
          '--gpus 1',
          '--retries 3',
          '--retry-delay 5m',
          `-- sh -c 'exit 3'`,
        ].join(' \\\n  '),
      )
      const ruled = { command: 'true', rules: '[{"match": {"exitCodes": [3]}, "action": {"eligible": true}}]' }
      expect(sessionAsCommand(ruled, readSession(ruled).input, null)).toMatch(
        /--policy - \\\n {2}-- true <<'JSON'\n\{[^]*\}\nJSON$/,
      )
    })

    test('names of agents become their ids, and the command has the options of all fields', () => {
      const agents = [{ name: 'node-7', agentId: '019cfbe2-0000-7000-8000-000000000007' }]
      const draft = {
        command: 'true',
        stopGrace: '5m',
        maxPending: '2 h',
        clusterSize: '2',
        clusterMode: 'MULTI_NODE',
        allowAgents: 'node-7',
        excludeAgents: 'nobody',
        agentLabels: 'zone=a',
        executorOptions: 'partition=gpu',
        creationId: 'once',
      }
      const { input, faults } = readSession(draft, agents)
      expect(faults).toEqual({ excludeAgents: 'There is no agent nobody.' })
      expect(input).toMatchObject({ stopGrace: 300, maxPending: 7200, allowAgents: [agents[0]!.agentId] })
      expect(sessionAsCommand({ ...draft, excludeAgents: '' }, { ...input, excludeAgents: [] }, null)).toBe(
        [
          'npx reprise create',
          '--name true',
          '--stop-grace 5m',
          '--max-pending 2h',
          '--cluster-size 2',
          '--cluster-mode multi-node',
          `--allow-agent ${agents[0]!.agentId}`,
          '--agent-label zone=a',
          '--executor-option partition=gpu',
          '--creation-id once',
          '-- true',
        ].join(' \\\n  '),
      )
    })

    test('the files that it leaves and gets are sent', () => {
      const id = '019cfbe2-0000-7000-8000-000000000001'
      const draft = {
        command: 'true',
        outputs: 'results/**\n!*.tmp\n',
        outputsWhen: 'SUCCESS',
        outputsKeepDays: '7',
        inputs: `${id}\nhttp://localhost:4000/chains/${id} in/data`,
      }
      const { input, faults } = readSession(draft)
      expect(faults).toEqual({})
      expect(input).toMatchObject({
        outputs: { paths: ['results/**', '!*.tmp'], when: 'SUCCESS', keepDays: 7 },
        inputs: [{ from: id }, { from: id, to: 'in/data' }],
      })
      expect(sessionAsCommand(draft, input, null)).toContain(
        [
          "--output 'results/**'",
          "--output '!*.tmp'",
          '--output-when success',
          '--output-keep-days 7',
          `--input ${id}`,
          `--input ${id}:in/data`,
        ].join(' \\\n  '),
      )
      expect(readSession({ command: 'true', outputsKeepDays: 'long', inputs: 'prepare' }).faults).toEqual({
        outputs: 'Which files are they?',
        outputsKeepDays: 'It is not a number of days.',
        inputs: 'prepare is no id.',
      })
    })

    test('the limit of its concurrency key is sent', () => {
      const draft = { command: 'true', concurrencyKey: 'customer-17', concurrencyLimit: '2' }
      const { input } = readSession(draft)
      expect(input).toMatchObject({ concurrencyKey: 'customer-17', concurrencyLimit: 2 })
      expect(sessionAsCommand(draft, input, null)).toContain(
        '--concurrency-key customer-17 \\\n  --concurrency-limit 2',
      )
    })

    test('with times is a command for a schedule', () => {
      const draft = {
        command: './report.sh',
        cron: '30 2 * * *',
        timeZone: 'Europe/Berlin',
        overlap: 'QUEUE',
        spread: '5m',
      }
      const { input } = readSession(draft)
      const timing = readTiming(draft, input.name, Date.UTC(2026, 0, 1))
      expect(timing).toMatchObject({
        input: { name: 'report.sh', cron: '30 2 * * *', timeZone: 'Europe/Berlin', overlap: 'QUEUE', jitter: 300 },
        faults: {},
      })
      expect(timing.times[0]).toBe(Date.UTC(2026, 0, 1, 1, 30))
      expect(sessionAsCommand(draft, input, timing.input)).toBe(
        [
          'npx reprise schedules create report.sh',
          `--cron '30 2 * * *'`,
          '--timezone Europe/Berlin',
          '--overlap queue',
          '--spread 300s',
          '--name report.sh',
          '-- ./report.sh',
        ].join(' \\\n  '),
      )
    })

    test.each([
      [{}, ['cron']],
      [{ cron: '@daily', every: '5m' }, ['every']],
      [{ every: 'often' }, ['every']],
      [{ cron: '@daily', catchUp: 'some' }, ['catchUp']],
      [{ cron: '@daily', timeZone: 'Nowhere' }, ['timeZone']],
    ])('is not made again and again by %j', (draft, fields) => {
      const { faults, times } = readTiming(draft, 'name', 0)
      expect(Object.keys(faults)).toEqual(fields)
      if (fields[0] !== 'catchUp') expect(times).toEqual([])
    })
  })
})

describe('the draft of a policy', () => {
  const POLICY = {
    maxRetries: 4,
    maxElapsed: null,
    delays: [20, 0.5, 7200],
    retryDelay: 1.5,
    backoff: 'EXPONENTIAL',
    backoffMultiplier: 2,
    maxRetryDelay: 3600,
    jitter: 'FULL',
    jitterRatio: 0.1,
    eligibleCauses: ['OOM_KILLED', 'UNKNOWN'],
    maxUncountedRetries: 3,
    countPreStartFailures: false,
    trustVerdicts: true,
    checkpoint: 'REQUIRE',
    checkpointWait: 60,
    pinImage: false,
    oomIsFailure: false,
    progressTimeout: 600,
    emitRetryEvents: false,
    rules: [{ action: 'STOP', delay: undefined, match: { exitCodes: [1, '64-78'] } }],
  }

  test('a set policy fills the form, and is the same when it is sent again', () => {
    const set = { ...POLICY, given: Object.keys(POLICY) }
    const { input, faults } = readDraft(draftOfPolicy(set), POLICY_FIELDS)
    expect(faults).toEqual({})
    expect({ ...untypedOf(set), ...input }).toEqual(JSON.parse(JSON.stringify(POLICY)))
    expect(untypedOf(set)).toEqual({ trustVerdicts: true, emitRetryEvents: false })
  })

  test('a table of delays is a list of durations, or none', () => {
    const read = (delays: string) => readDraft({ delays }, POLICY_FIELDS)
    expect(read('20s, 5m,2h').input).toEqual({ delays: [20, 300, 7200] })
    expect(read('none').input).toEqual({ delays: null })
    expect(Object.keys(read('20s,,5m').faults)).toEqual(['delays'])
    expect(draftOfPolicy({ given: ['delays'], delays: null })).toEqual({ delays: 'none' })
  })

  test('no cause differs from any cause', () => {
    const draft = draftOfPolicy({ given: ['eligibleCauses'], eligibleCauses: [] })
    expect(readDraft(draft, POLICY_FIELDS).input).toEqual({ eligibleCauses: [] })
  })

  test('unset fields are left empty', () => {
    const unset = Object.fromEntries(Object.keys(POLICY).map((path) => [path, null]))
    expect(draftOfPolicy({ ...unset, given: [] })).toEqual({})
    expect(untypedOf({ ...unset, given: ['maxElapsed'] })).toEqual({})
    expect(draftOfPolicy({ ...unset, given: ['maxElapsed'] })).toEqual({ within: 'none' })
  })
})

describe('the fields of a policy', () => {
  const DRAFT = {
    retries: '6',
    within: '2h',
    delay: '1.5m',
    backoff: 'exponential',
    factor: '1.5',
    ceiling: 'none',
    jitter: 'decorrelated',
    share: '0.1',
    on: 'oom-killed,unknown',
    preset: 'cms-exit-codes',
    'uncounted-max': '3',
    uncounted: 'true',
    'ignore-verdicts': 'true',
  }

  test('the defaults of the form are those of the server', () => {
    const standard = Object.fromEntries(
      POLICY_FIELDS.flatMap(({ name, standard: text }) => (text ? [[name, text]] : [])),
    )
    const { input, faults } = readDraft(standard, POLICY_FIELDS)
    expect(faults).toEqual({})
    expect(SHIPPED_POLICY).toMatchObject(input)
    expect(
      Object.keys(CAUSES)
        .map((cause) => cause.toUpperCase().replaceAll('-', '_'))
        .toSorted(),
    ).toEqual(DEFAULT_CAUSES.toSorted())
  })

  test.each(Object.entries(DRAFT))('the command line takes %s %s as the page does', (name, text) => {
    const draft = { [name]: text }
    const { input } = readDraft(draft, POLICY_FIELDS)
    const command = policyAsCommand(draft, input).replaceAll(/\s*\\\s+/g, ' ')
    const words = command.replace('npx reprise run ', '').replace(' -- COMMAND', '').split(' ')
    const program = addPolicyOptions(new Command()).parse(words, { from: 'user' })
    expect(readPolicy(program.opts())).toEqual(input)
  })

  test('a policy with rules is given as text', () => {
    const draft = { retries: '2', rules: '[{"match": {}, "action": "FAIL"}]' }
    const command = policyAsCommand(draft, readDraft(draft, POLICY_FIELDS).input)
    expect(command).toContain('--policy -')
    expect(JSON.parse(command.split('\n').slice(1, -1).join('\n'))).toEqual({
      maxRetries: 2,
      rules: [{ match: {}, action: 'FAIL' }],
    })
  })

  test('the fields and the address agree in both directions', () => {
    const draft = { ...DRAFT, rules: '[{"match":{},"action":"FAIL"}]' }
    const search = searchOf(draft, 'airflow')
    expect(search).toMatchObject({ retries: 6, uncounted: true, within: '2h', rules: [{ match: {}, action: 'FAIL' }] })
    expect(draftOf(readPolicySearch(search))).toEqual(draft)
    expect(readPolicySearch({ colour: 'red', from: 'cron', delay: 'x'.repeat(201), retries: 3 })).toEqual({
      retries: 3,
      dropped: ['colour', 'from', 'delay'],
    })
  })

  describe('invalid values', () => {
    test.each([
      ['retries', 'many', 'whole number'],
      ['delay', '5 years', 'duration'],
      ['factor', '1,5', 'number'],
      ['rules', '{}', 'list in JSON'],
      ['backoff', 'quadratic', 'one of these'],
    ])('%s %s', (name, text, words) => {
      expect(readDraft({ [name]: text }, POLICY_FIELDS)).toEqual({
        input: {},
        faults: { [name]: expect.stringContaining(words) },
      })
    })
  })

  test('a fault of the server is shown at its field', () => {
    const issues = [
      { path: 'policy.rules.0.delay', message: 'Too small' },
      { path: 'policy.retryDelay', message: 'Must be more than 0' },
      { path: 'sessionId', message: 'Not a UUID' },
    ]
    expect(placeIssues(issues, 'all of it', POLICY_FIELDS)).toEqual({
      faults: { rules: '0.delay: Too small', delay: 'Must be more than 0' },
      rest: 'sessionId: Not a UUID',
    })
    const coerced = 'Variable "$policy" got invalid value 1e9 at "policy.maxRetries"; Int cannot represent it'
    expect(placeIssues([], coerced, POLICY_FIELDS)).toEqual({
      faults: { retries: 'Int cannot represent it' },
      rest: null,
    })
    expect(placeIssues([], 'the database is away', POLICY_FIELDS)).toEqual({ faults: {}, rest: 'the database is away' })
  })
})
