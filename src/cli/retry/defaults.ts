import { Argument, Command } from 'commander'
import type { RetryScope } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { addPolicyOptions, readPolicy, type PolicyOptions } from '../options/policy-options.ts'
import { oneOf } from '../options/values.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { UsageError } from '../present-error.ts'

export function defaultsCommand(): Command {
  return new Command('defaults')
    .description('retry policy defaults for new sessions')
    .addCommand(show(), { isDefault: true })
    .addCommand(set())
    .addCommand(clear())
}

/** `cluster`, `domain NAME` or `project NAME`, as `scopeOf` reads it. */
export function addScope(command: Command): Command {
  const scopes = API_ENUMS.RetryScope.map((scope) => scope.toLowerCase())
  return command.addArgument(new Argument('<scope>').choices(scopes)).argument('[name]', 'of a domain or project')
}

/** @throws UsageError */
export function scopeOf([scope, name]: string[]): { scope: RetryScope; name?: string } {
  const known = oneOf(scope!, API_ENUMS.RetryScope)
  if ((known === 'CLUSTER') !== (name === undefined)) {
    throw new UsageError(known === 'CLUSTER' ? 'The cluster has no name.' : `Which ${scope}? Its name comes next.`)
  }
  return { scope: known, name }
}

function show(): Command {
  const command = describedCommand('show', 'show the defaults that are set, widest scope first', ['reprise defaults'])
  return act(command, async ({ client, out, signal }) => {
    const all = await client.retryDefaults({ signal })
    const rows = all.flatMap(({ scope, name, policy }) =>
      (policy?.given ?? []).map((field) => ({
        scope,
        name,
        field,
        value: JSON.stringify(policy![field as keyof NonNullable<typeof policy>]),
      })),
    )
    if (out.json) return out.show(all, () => '')
    await out.table(
      rows,
      [
        { title: 'SCOPE', value: ({ scope }) => scope },
        { title: 'NAME', value: ({ name }) => name },
        { title: 'FIELD', value: ({ field }) => field },
        { title: 'VALUE', value: ({ value }) => value, flexible: true },
      ],
      'nothing is set: the built-in defaults apply',
    )
  })
}

function set(): Command {
  const command = describedCommand('set', 'replace the defaults of the cluster, a domain or a project', [
    'reprise defaults set cluster --retries 2',
    'reprise defaults set project research --retries 5 --backoff exponential --max-elapsed 12h',
  ])
  addScope(command)
  return act<PolicyOptions>(addPolicyOptions(command), async ({ client, out }, options, args) => {
    const policy = readPolicy(options)
    if (!policy) throw new UsageError('Say what to set, like --retries 3; `defaults clear` removes everything.')
    const made = await client.setRetryDefaults({ ...scopeOf(args), policy })
    out.show(made, () => `set for ${args.join(' ')}: ${(made.policy?.given ?? []).join(', ')}`)
  })
}

function clear(): Command {
  const command = describedCommand('clear', 'remove the defaults of a scope', [
    'reprise defaults clear project research',
  ])
  addScope(command)
  return act(command, async ({ client, out }, _options, args) => {
    const made = await client.setRetryDefaults({ ...scopeOf(args), policy: null })
    out.show(made, () => `nothing is set for ${args.join(' ')} any more`)
  })
}
