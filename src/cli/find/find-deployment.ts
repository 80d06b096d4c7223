import type { Client, DeploymentFilter } from '../../client/node/index.ts'
import { take } from '../session/take.ts'
import { findId } from './find-id.ts'

/**
 * The id of a deployment given by id, by a unique beginning of it, or by name; of several with that name, the newest.
 * @throws NotFoundError, or UsageError for a beginning of several ids
 */
export async function findDeployment(client: Client, text: string): Promise<string> {
  const find = async (filter: DeploymentFilter, count: number) => {
    const { items } = await take(client.deployments({ filter }), count)
    return items.map(({ deploymentId, name }) => ({ id: deploymentId, name }))
  }
  return findId(text, {
    noun: 'deployment',
    code: 'DEPLOYMENT_NOT_FOUND',
    beginning: (idPrefix, count) => find({ idPrefix }, count),
    named: async (name) => (await find({ name: { equals: name } }, 1))[0],
  })
}

export const DEPLOYMENT_ARGUMENT = 'id, its beginning, or name of a deployment; a name means the newest one'
