/** The Java client's program; its three ways to be started are described in harness/client_programs.py. */
public final class Client {
    private Client() {
    }

    public static void main(String[] arguments) throws Exception {
        String address = arguments[1];
        switch (arguments[0]) {
            case "suite":
                try (Suite suite = new Suite(new Connection(address))) {
                    suite.run();
                }
                break;
            case "load":
                new Load(new Connection(address), arguments[2]).run();
                break;
            case "verify":
                new Load(new Connection(address), arguments[2]).verify();
                break;
            default:
                throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println("end");
        System.out.flush();
    }
}
