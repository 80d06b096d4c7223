import { NotFoundError, type Client } from '../../client/node/index.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The id of a deployment given by id or by name; of several with that name, the newest. @throws NotFoundError */
export async function findDeployment(client: Client, text: string): Promise<string> {
  if (UUID.test(text)) return text
  for await (const { deploymentId } of client.deployments({ filter: { name: { equals: text } } })) return deploymentId
  throw new NotFoundError('DEPLOYMENT_NOT_FOUND', `There is no deployment with the id or the name ${text}.`)
}

export const DEPLOYMENT_ARGUMENT = 'id or name of a deployment; a name means the newest one'
