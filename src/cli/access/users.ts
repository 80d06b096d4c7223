import { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { relative } from '../output/time.ts'
import { takeAll } from '../session/take.ts'

export function usersCommand(): Command {
  return new Command('users')
    .description('users and their projects, for administrators')
    .addCommand(list(), { isDefault: true })
    .addCommand(create())
}

function list(): Command {
  const command = describedCommand('list', 'list users with their projects', ['reprise users'])
  return act(command, async ({ client, out, signal }) => {
    await out.table(
      await takeAll(client.users({ signal })),
      [
        { title: 'USER', value: ({ name }) => name },
        {
          title: 'PROJECTS',
          value: ({ memberships }) => memberships.map(({ project, role }) => `${project.name} (${role})`).join(', '),
          flexible: true,
        },
        { title: 'CREATED', value: ({ createdAt }) => relative(createdAt) },
        { title: 'ID', value: ({ userId }) => userId, id: true },
      ],
      'no users',
    )
  })
}

function create(): Command {
  const command = describedCommand('create', 'create a user; `projects grant` gives it work', [
    'reprise users create grace',
  ]).argument('<name>')
  return act(command, async ({ client, out }, _options, [name]) => {
    const user = await client.createUser(name!)
    out.show(user, () => `${user.name} ${user.userId}: created`)
  })
}
