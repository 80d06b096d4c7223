import { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { oneOf } from '../options/values.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { relative } from '../output/time.ts'
import { takeAll } from '../session/take.ts'

export function projectsCommand(): Command {
  return new Command('projects')
    .description('projects, and who works in them')
    .addCommand(list(), { isDefault: true })
    .addCommand(create())
    .addCommand(grant())
    .addCommand(revoke())
}

function list(): Command {
  const command = describedCommand('list', 'list the projects that you may see', ['reprise projects'])
  return act(command, async ({ client, out, signal }) => {
    await out.table(
      await takeAll(client.projects({ signal })),
      [
        { title: 'PROJECT', value: ({ name }) => name },
        { title: 'DOMAIN', value: ({ domain }) => domain },
        { title: 'CREATED', value: ({ createdAt }) => relative(createdAt) },
        { title: 'ID', value: ({ projectId }) => projectId, id: true },
      ],
      'no projects',
    )
  })
}

function create(): Command {
  const command = describedCommand('create', 'create a project, for administrators', [
    'reprise projects create vision --domain default',
  ])
    .argument('<name>')
    .option('--domain <domain>', 'domain that it belongs to')
  return act<{ domain?: string }>(command, async ({ client, out }, { domain }, [name]) => {
    const project = await client.createProject({ name: name!, domain })
    out.show(project, () => `${project.name} ${project.projectId}: created in the domain ${project.domain}`)
  })
}

function grant(): Command {
  const command = describedCommand('grant', 'make a user a member of a project, or change the role there', [
    'reprise projects grant research ada member',
  ])
    .argument('<project>')
    .argument('<user>')
    .argument('<role>', 'admin, member or viewer')
  return act(command, async ({ client, out }, _options, [project, user, given]) => {
    const role = oneOf(given!, API_ENUMS.TokenRole)
    await client.setProjectMember({ project: project!, user: user!, role })
    out.show({ project, user, role }, () => `${user} is ${role} of ${project}`)
  })
}

function revoke(): Command {
  const command = describedCommand('revoke', 'take a user out of a project', ['reprise projects revoke research ada'])
    .argument('<project>')
    .argument('<user>')
  return act(command, async ({ client, out }, _options, [project, user]) => {
    await client.removeProjectMember({ project: project!, user: user! })
    out.show({ project, user, role: null }, () => `${user} is no longer a member of ${project}`)
  })
}
