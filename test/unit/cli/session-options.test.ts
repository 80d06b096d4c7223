import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addSessionOptions, sessionInput, type SessionOptions } from '../../../src/cli/options/session-options.ts'

test('agents are named, avoided, excluded, and told by labels', () => {
  const command = addSessionOptions(new Command('create').argument('<program...>'))
  const agents = ['--allow-agent', 'a', '--avoid-agent', 'b', '--exclude-agent', 'c', '--exclude-agent', 'd']
  const labels = ['--agent-label', 'zone=x', '--agent-label', 'disk=ssd']
  command.parse([...agents, ...labels, '--', 'true'], { from: 'user' })
  expect(sessionInput(command.opts<SessionOptions>(), ['true'])).toMatchObject({
    allowAgents: ['a'],
    avoidAgents: ['b'],
    excludeAgents: ['c', 'd'],
    agentLabels: [
      { key: 'zone', value: 'x' },
      { key: 'disk', value: 'ssd' },
    ],
  })
})

test('executor options are told', () => {
  const command = addSessionOptions(new Command('create').argument('<program...>'))
  const options = ['--executor-option', 'qos=high', '--executor-option', 'constraint=a=b']
  command.parse([...options, '--', 'true'], { from: 'user' })
  expect(sessionInput(command.opts<SessionOptions>(), ['true']).executorOptions).toEqual([
    { key: 'qos', value: 'high' },
    { key: 'constraint', value: 'a=b' },
  ])
})

test('a concurrency key and its limit are told', () => {
  const command = addSessionOptions(new Command('create').argument('<program...>'))
  command.parse(['--concurrency-key', 'customer-7', '--concurrency-limit', '2', '--', 'true'], { from: 'user' })
  expect(sessionInput(command.opts<SessionOptions>(), ['true'])).toMatchObject({
    concurrencyKey: 'customer-7',
    concurrencyLimit: 2,
  })
})
