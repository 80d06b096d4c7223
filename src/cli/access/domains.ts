import { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { relative } from '../output/time.ts'
import { takeAll } from '../session/take.ts'

export function domainsCommand(): Command {
  return new Command('domains')
    .description('domains: groups of projects, with defaults and quotas of their own')
    .addCommand(list(), { isDefault: true })
    .addCommand(create())
}

function list(): Command {
  const command = describedCommand('list', 'list the domains that you may see', ['reprise domains'])
  return act(command, async ({ client, out, signal }) => {
    await out.table(
      await takeAll(client.domains({ signal })),
      [
        { title: 'DOMAIN', value: ({ name }) => name },
        { title: 'CREATED', value: ({ createdAt }) => relative(createdAt), align: 'right' },
        { title: 'ID', value: ({ domainId }) => domainId, id: true },
      ],
      'no domains',
    )
  })
}

function create(): Command {
  const command = describedCommand('create', 'create a domain, for administrators', ['reprise domains create physics'])
  return act(command.argument('<name>'), async ({ client, out }, _options, [name]) => {
    const domain = await client.createDomain(name!)
    out.show(domain, () => `${domain.name} ${domain.domainId}: created`)
  })
}
