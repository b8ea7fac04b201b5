from anycsp.cli import main

main()
