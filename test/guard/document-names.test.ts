import { Command } from 'commander'
import type { GraphQLNamedType } from 'graphql'
import { describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { agentCommand, serverCommands } from '../../src/program/command-definitions.ts'
import { addClientCommands } from '../../src/cli/program.ts'
import { CLIENT_VARIABLES } from '../../src/client/node/environment.ts'
import { createClient } from '../../src/client/node/index.ts'
import { CONFIGURATION } from '../../src/program/config.ts'
import { ERRORS } from '../../src/domain/errors.ts'
import { KERNEL_VARIABLES } from '../../src/domain/session/kernel-environment.ts'
import { schema } from '../../src/graphql/schema.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { documentPages } from '../support/document-blocks.ts'
import { codeIn, proseOf } from './document-tables.ts'
import { readSourceFiles } from './source-files.ts'

/** What the pages name in code is there: fields, values, variables, errors, metrics, commands, options, scripts. */

/** Of others, of tests, or of parts that have no table. */
const OTHERS = [
  'NODE_EXTRA_CA_CERTS',
  'NO_COLOR',
  'TEST_REQUIRE',
  'TEST_BROWSER',
  'TEST_DEADLINE',
  '--minutes',
  '--seed',
  '--canary',
  '--fast-forward',
  'SLURM_CONF',
  'OUT_OF_MEMORY',
  'backoffFactor',
  'documentId',
  'onProgress',
  'browserKey',
  'CapabilityBoundingSet',
  'shareProcessNamespace',
  '--build-arg',
  '--clusters',
  '--cpus-per-task',
  '--exclude',
  '--exclusive',
  '--format',
  '--gres',
  '--help',
  '--init',
  '--keep',
  '--live-restore',
  '--mem',
  '--max-semi-space-size',
  '--nice',
  '--no-requeue',
  '--only',
  '--output',
  '--quick',
  '--time',
]

/** Of Relay, Apollo Client and urql: what test/contract/caches uses. */
const OF_CACHES = ['deleteRecord', 'deleteEdge', 'prependNode', 'keyFields', 'relayStylePagination', 'relayPagination']

const client = createClient({ url: 'http://127.0.0.1:1', token: 'none' })
const program = await addClientCommands(new Command('reprise'))
for (const command of [...serverCommands({}), agentCommand('0', {})]) program.addCommand(command)

/** Between agents and servers. */
const protocol = (await readSourceFiles()).filter(({ path }) => path.endsWith('/agent/protocol.ts'))

const names = new Set<string>([
  ...OTHERS,
  ...OF_CACHES,
  ...Object.keys(ERRORS),
  ...CONFIGURATION.map(({ name }) => name),
  ...CLIENT_VARIABLES.map(({ name }) => name),
  ...Object.keys(KERNEL_VARIABLES),
  ...Object.keys(client),
  ...Object.values(schema.getTypeMap()).flatMap(namesOfType),
  ...createMetrics()
    .registry.getMetricsAsArray()
    .map(({ name }) => name),
  ...optionsOf(program),
  ...protocol.flatMap(({ text }) => [...text.matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, name]) => name!)),
])
await client.close()

function namesOfType(type: GraphQLNamedType): string[] {
  const values = 'getValues' in type ? type.getValues().map(({ name }) => name) : []
  const fields = 'getFields' in type ? Object.values<Field>(type.getFields()) : []
  return [type.name, ...values, ...fields.flatMap(({ name, args = [] }) => [name, ...args.map((each) => each.name)])]
}

interface Field {
  name: string
  args?: readonly { name: string }[]
}

function optionsOf(command: Command): string[] {
  const own = command.options.flatMap(({ long }) => (long ? [long] : []))
  return [...own, ...command.commands.flatMap(optionsOf)]
}

/** Capitals with underscores, camelCase, our metrics, long options. */
const NAME = /(?<![\w.$-])(?:[A-Z]+(?:_[A-Z]+)+|[a-z]+[A-Z]\w*|bai_\w+|--[a-z][a-z-]+)(?![\w…*-])/g

const pages = (await documentPages()).filter((page) => page !== 'CHANGELOG.md')
const codes = await Promise.all(pages.map(async (page) => ({ page, code: codeIn(await proseOf(page)) })))

test('names are seen', () => {
  expect(codes.flatMap(({ code }) => code.flatMap((text) => text.match(NAME) ?? [])).length).toBeGreaterThan(500)
})

describe.each(codes)('$page', ({ code }) => {
  test('names what there is', () => {
    const named = code.flatMap((text) => text.match(NAME) ?? [])
    expect(named.filter((name) => !names.has(name))).toEqual([])
  })

  test('shows commands that there are', () => {
    const commands = code.flatMap((text) => /^(?:npx )?reprise ([a-z][a-z-]*(?: [a-z]+)?)/.exec(text)?.slice(1) ?? [])
    expect(commands.filter((command) => !isCommand(command.split(' ')))).toEqual([])
    const scripts = code.flatMap((text) => /^npm (?:run )?([a-z]+)/.exec(text)?.slice(1) ?? [])
    expect(scripts.filter((script) => script !== 'ci' && !(script in packageJson.scripts))).toEqual([])
  })
})

/** `ready` is what a server prints, and a word after a command without subcommands its argument. */
function isCommand([name, second]: string[]): boolean {
  const command = program.commands.find((each) => each.name() === name)
  if (command === undefined) return name === 'ready'
  if (second === undefined || command.commands.length === 0) return true
  return command.commands.some((each) => each.name() === second)
}
